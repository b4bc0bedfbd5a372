"""Tests of `keepwhole.canonical`."""
