"""Tests of `holdfast.recall`."""
