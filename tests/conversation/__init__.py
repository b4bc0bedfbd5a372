"""Tests of `keepwhole.conversation`."""
