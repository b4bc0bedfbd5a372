"""Tests of `holdfast.session`."""
