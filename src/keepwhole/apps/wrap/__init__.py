"""One run of an agent with the proxy in front of its provider, and a receipt at its end."""
