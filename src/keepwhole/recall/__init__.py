"""The way back: what a model may call to read what it was not shown."""
