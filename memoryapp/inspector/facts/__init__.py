"""The pages of long-term memory: lists, one fact, what waits, what expires, health."""
