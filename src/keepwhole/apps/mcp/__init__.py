"""Keepwhole over the Model Context Protocol: a server of the local record, and a gateway before other servers."""
