"""The local page over the record: what was kept, what was shown, what was sent, live."""
