"""Bodies too large for a row: in a folder, in a bucket, in the database."""
