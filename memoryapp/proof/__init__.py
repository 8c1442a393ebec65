"""Proof that what is forgotten is gone: canaries through every door, and a look into every store afterwards."""
