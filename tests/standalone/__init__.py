"""Tests of `keepwhole.standalone`."""
