"""Tests of `keepwhole.transfer`."""
