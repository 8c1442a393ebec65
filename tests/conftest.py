"""Fixtures for the whole suite; the servers behind it are started by ``tests/servers.py``."""

from tests.personas import alice, bob, carol

__all__ = ["alice", "bob", "carol"]
