"""The pages for admins: kinds and lifetimes, tiers, people, operations."""
