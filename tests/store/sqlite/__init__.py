"""Tests of `keepwhole.store.sqlite`."""
