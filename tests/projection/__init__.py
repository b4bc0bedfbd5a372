"""Tests of `holdfast.projection`."""
