"""Tests of `holdfast.truncation`."""
