"""Tests of `holdfast.wire`."""
