"""How well memory finds what it should, measured through the code that the chat itself uses."""
