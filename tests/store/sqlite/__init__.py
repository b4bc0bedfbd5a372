"""Tests of `holdfast.store.sqlite`."""
