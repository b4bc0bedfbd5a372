"""Where the record is kept: protocol, memory, SQLite, blobs. Sync; nothing is acknowledged before it is durable."""
