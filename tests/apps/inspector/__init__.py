"""The inspector: its page in a browser, its server over sockets."""
