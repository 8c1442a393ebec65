"""Who is acting at this moment, so that what is done can say by whom without every call naming them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy


class Actor(TextChoices):
    """Who acts. ``PERSON`` is the one whose memory it is."""

    PERSON = "person", gettext_lazy("You")
    ASSISTANT = "assistant", gettext_lazy("The assistant")
    PROGRAM = "program", gettext_lazy("A program")
    ADMIN = "admin", gettext_lazy("An admin")
    SYSTEM = "system", "Strata"


@dataclass(frozen=True, slots=True)
class Acting:
    """``name``: of the program (its token's name) or the admin; empty for all others."""

    actor: Actor
    name: str = ""


NOBODY = Acting(Actor.SYSTEM)  # who has not been named: jobs and commands

_acting: ContextVar[Acting] = ContextVar("acting")


def current() -> Acting:
    return _acting.get(NOBODY)


def act_as(actor: Actor, name: str = "") -> None:
    """From now on, until the ``acting_as`` around it ends: for who is known only within a request."""
    _acting.set(Acting(actor, name))


@contextmanager
def acting_as(actor: Actor, name: str = "") -> Iterator[None]:
    token = _acting.set(Acting(actor, name))
    try:
        yield
    finally:
        _acting.reset(token)
