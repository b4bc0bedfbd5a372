"""One branch of a conversation as it is sent: follow it, let new results arrive, age old ones, compact, edit."""
