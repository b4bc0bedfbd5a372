"""Adapters, one file per framework, over two calls of a session: a result arrives, messages are about to be sent."""
