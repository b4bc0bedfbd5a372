"""Torture: processes killed, power cut, crowds of writers; an oracle outside the store says what was promised."""
