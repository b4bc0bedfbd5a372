"""The record in PostgreSQL, for agents on many machines. Needs the extra `postgres`."""
