"""The two switches above all others: whether memory is used, and whether anything is added to it."""

from uuid import UUID

from django.db import transaction

from memoryapp.accounts import operations as accounts
from memoryapp.activity import operations as activity
from memoryapp.activity.models import Tier, Verb
from memoryapp.transcript import sources


def switch_memory(user_id: UUID, *, use: bool | None = None, save: bool | None = None) -> None:
    """Set what is given; None leaves it. What was said while nothing was to be saved is never learned later."""
    with transaction.atomic(durable=True):
        before = accounts.switch_memory(user_id, use=use, save=save)
        if save and not before.save_memory:
            sources.pass_over_everything(user_id)
        for name, was_on, is_on in (
            ("use memory", before.use_memory, use),
            ("save to memory", before.save_memory, save),
        ):
            if is_on is not None and is_on != was_on:
                detail = f"{name}: {'on' if is_on else 'off'}"
                activity.note(user_id, Verb.SWITCHED, tier=Tier.ACCOUNT, detail=detail)
