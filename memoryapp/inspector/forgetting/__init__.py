"""The pages on which a person forgets, and the receipts of that."""
