"""Tests of `keepwhole.store`."""
