"""Fixtures for the whole suite; the servers behind it are started by ``tests/servers.py``."""
