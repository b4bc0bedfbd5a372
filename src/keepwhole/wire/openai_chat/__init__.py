"""OpenAI's Chat Completions, and everyone who speaks like it."""
