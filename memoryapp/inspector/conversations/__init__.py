"""The pages of the transcript: conversations, their messages and summaries."""
