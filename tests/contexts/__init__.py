"""Tests of `keepwhole.contexts`."""
