"""Tests of `keepwhole.projection`."""
