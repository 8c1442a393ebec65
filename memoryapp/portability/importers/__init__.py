"""Exports of other chats, read item by item: pure, bounded in memory, and strict with what is hostile."""
