"""Tests of `keepwhole.logs`."""
