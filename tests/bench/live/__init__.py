"""Tests of the live proof, without a model."""
