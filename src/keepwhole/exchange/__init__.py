"""One request of a client and back: the view that is sent, hidden rounds of recall tools, bills, the request log."""
