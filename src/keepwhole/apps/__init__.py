"""Keepwhole as a process: the only places that print, listen or connect."""
