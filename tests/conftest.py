"""Fixtures for the whole suite; the servers behind it are started by ``tests/servers.py``."""

from tests.chromium import chromium
from tests.personas import alice, bob, carol

__all__ = ["alice", "bob", "carol", "chromium"]
