"""What a reply was given, noted by memory: what the numbers of a fact's page and the lists of what is used count."""

import logging
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import IntegrityError
from django.utils import timezone

from memoryapp.context.models import Use
from memoryapp.context.recall import Recall
from memoryapp.longterm import experience_queries
from memoryapp.longterm import queries as longterm
from memoryapp.transcript.models import Turn

logger = logging.getLogger(__name__)


def note_recalled(turn: Turn, recall: Recall) -> None:
    """The facts (those always used, too) and experiences that the prompt of the turn began with, once per turn."""
    rows = [
        *(
            Use(memory_id=item.what.id, rank=rank, score=Use.AT_HAND if item.is_at_hand else item.score)
            for rank, item in enumerate(recall.given("fact"), 1)
        ),
        *(
            Use(experience_id=item.what.id, rank=rank, score=item.score)
            for rank, item in enumerate(recall.given("experience"), 1)
        ),
    ]
    _keep(turn, rows)


def note_looked_up(turn: Turn, ids: Iterable[UUID]) -> None:
    """Memories and experiences that a tool of the turn answered with, in their order; others' ids are not theirs."""
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return
    memories = longterm.by_ids(turn.user_id, set(wanted))
    lessons = experience_queries.by_ids(turn.user_id, set(wanted) - memories.keys())
    rows = [
        Use(
            memory_id=row_id if row_id in memories else None,
            experience_id=row_id if row_id in lessons else None,
            rank=rank,
            score=Use.LOOKED_UP,
        )
        for rank, row_id in enumerate(wanted, 1)
        if row_id in memories or row_id in lessons
    ]
    _keep(turn, rows)


def _keep(turn: Turn, rows: Sequence[Use]) -> None:
    """One statement. A later call of the turn, or a second attempt, that gives the same again changes nothing."""
    now = timezone.now()
    for row in rows:
        row.user_id, row.turn, row.used_at = turn.user_id, turn, now
    if not rows:
        return
    try:
        Use.objects.bulk_create(rows, ignore_conflicts=True)
    except IntegrityError:
        # One of them was deleted meanwhile; a reply does not fail for want of its statistics.
        logger.info("What turn %s was given changed meanwhile.", turn.id)
