"""Tests of `keepwhole.policies`."""
