"""Tests of `keepwhole.recall`."""
