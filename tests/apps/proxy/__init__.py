"""Tests of `keepwhole.apps.proxy`."""
