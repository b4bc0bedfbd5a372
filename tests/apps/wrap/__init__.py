"""`holdfast wrap` and `holdfast report`."""
