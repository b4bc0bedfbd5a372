"""The proxy, as a client and as a provider see it."""
