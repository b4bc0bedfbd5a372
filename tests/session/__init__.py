"""Tests of `keepwhole.session`."""
