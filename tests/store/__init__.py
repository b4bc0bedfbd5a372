"""Tests of `holdfast.store`."""
