"""The pages of the scratchpad: runs, their pads and records; and the lessons learned from them."""
