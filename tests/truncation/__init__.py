"""Tests of `keepwhole.truncation`."""
