"""Tests of `keepwhole.record`."""
