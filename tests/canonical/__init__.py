"""Tests of `holdfast.canonical`."""
