"""The page on which a person takes their data along, and brings some."""
