"""The back end for many machines, on a real server."""
