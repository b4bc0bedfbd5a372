"""Parts that work without a session: truncation processor, context windows, saved contexts, stream previews."""
