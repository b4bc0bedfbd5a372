"""Tests of `keepwhole.standalone.contexts`."""
