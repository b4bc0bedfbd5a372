"""Tests of `keepwhole.testing`."""
