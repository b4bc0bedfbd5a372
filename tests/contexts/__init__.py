"""Tests of `holdfast.contexts`."""
