"""Importers: logs in each tool's true format, whole and broken."""
