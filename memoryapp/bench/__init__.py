"""Measurements that anyone can repeat: each on an installation of its own, of which nothing is left."""
