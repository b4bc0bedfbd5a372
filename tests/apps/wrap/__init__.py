"""`keepwhole wrap` and `keepwhole report`."""
