"""Tests of `keepwhole.models`."""
