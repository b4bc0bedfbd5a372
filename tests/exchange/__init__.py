"""Tests of `keepwhole.exchange`."""
