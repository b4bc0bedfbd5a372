"""Tests of `keepwhole.wire`."""
