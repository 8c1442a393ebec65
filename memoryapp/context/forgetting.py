"""What the read path keeps about a person's replies: snapshots, uses and what they left out."""

from uuid import UUID

from memoryapp.accounts import operations as accounts
from memoryapp.context.models import ContextSnapshot, Exclusion, Use


def delete_everything_within(user_id: UUID) -> None:
    """Within the caller's transaction: all of it, of this person."""
    accounts.delete_rows(user_id, (ContextSnapshot, Use, Exclusion))
