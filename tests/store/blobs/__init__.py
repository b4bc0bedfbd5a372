"""Tests of `keepwhole.store.blobs`."""
