"""Every address of the application, read from its URL patterns."""

from memoryapp.proof.addresses import addresses

__all__ = ["addresses"]
