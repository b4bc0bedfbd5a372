"""Real transcripts, where they are at hand."""
