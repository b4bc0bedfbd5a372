"""Gemini's `generateContent`, at AI Studio and at Vertex AI."""
