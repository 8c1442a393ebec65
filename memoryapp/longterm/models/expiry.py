"""When a row of long-term memory expires, in SQL, and that what is being forgotten is in no read."""

from typing import TypeVar

from django.db import models
from django.db.models import F

from memoryapp.longterm.models.kinds import Kind

NEVER = models.Value(None, output_field=models.DateTimeField())
NOT_KEPT = models.Value(value=False)


def fading_at(ttl_days: int | None, *, subject: str) -> models.Func:
    """When rows of this subject would fade if their kind had this lifetime."""
    ttl = models.Value(ttl_days, output_field=models.IntegerField())
    if subject == Kind.Subject.EXPERIENCE:
        return fades_at(NEVER, NOT_KEPT, ttl)
    return fades_at(F("expires_at"), F("is_kept"), ttl)


def fades_at(
    expires_at: models.Expression | F,
    is_kept: models.Expression | F,
    ttl_days: models.Expression | F | None = None,
    *,
    affirmed_at: models.Expression | F | None = None,
) -> models.Func:
    """Of a row with ``affirmed_at``, a kind and a user."""
    return models.Func(
        affirmed_at or F("affirmed_at"),
        ttl_days or F("kind__ttl_days"),
        expires_at,
        is_kept,
        F("user__time_zone"),
        function="memory_fades_at",
        output_field=models.DateTimeField(),
    )


Row = TypeVar("Row", bound=models.Model)


class KeptManager(models.Manager[Row]):
    """Without what is being forgotten: no read path has to remember to leave it out."""

    def get_queryset(self) -> models.QuerySet[Row]:
        return super().get_queryset().filter(forgetting=None)
