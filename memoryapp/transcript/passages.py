"""All that one person said and was told, as ``policies.dialogue`` scores it: an exact scan of that person's keys."""

from dataclasses import dataclass
from uuid import UUID

import numpy as np

from memoryapp import columns
from memoryapp.columns import Ids
from memoryapp.policies.dialogue import Passages
from memoryapp.transcript.queries import InPrompt

# Expects the indexes transcript_messagekey_user_id for the keys, conversation_list for the conversations and
# turn_unrecalled for the turns. Not a join of the turns: a person has thousands, and few that are left out. Nothing
# is ordered here: sorting would carry every vector along.
PASSAGES = """
WITH conversation AS (
    SELECT id, row_number() OVER (ORDER BY id)::int AS session
    FROM transcript_conversation
    WHERE user_id = %(user_id)s AND deleted_at IS NULL AND NOT is_temporary
      AND (save_memory OR id = %(here)s::uuid)
)
SELECT array_send(array_agg(key.message_id)),
       array_send(array_agg(conversation.session)),
       array_send(array_agg(key.position)),
       array_send(array_agg(key.said_at)),
       array_send(array_agg(key.speaker)),
       array_send(array_agg(key.traits)),
       array_send(array_agg(key.words)),
       array_send(array_agg(length(key.terms) / 4)),
       string_agg(key.terms, ''),
       array_send(array_agg(coalesce(
           CASE WHEN key.embedding_model = %(model_id)s AND vector_dims(key.embedding) = %(dimensions)s
                THEN -(key.embedding <#> %(embedding)s::halfvec) END, 'NaN')::real))
FROM transcript_messagekey key JOIN conversation ON conversation.id = key.conversation_id
WHERE key.user_id = %(user_id)s AND key.terms <> ''
  AND (%(here)s::uuid IS NULL OR key.conversation_id <> %(here)s::uuid OR key.position < %(first_position)s)
  AND key.turn_id NOT IN (
      SELECT id FROM transcript_turn
      WHERE user_id = %(user_id)s
        AND (NOT is_current OR status IN ('queued', 'running', 'waiting') OR deleted_at IS NOT NULL))
"""


@dataclass(frozen=True, slots=True)
class Found:
    """``message_ids``: in the order of ``passages``."""

    passages: Passages
    message_ids: Ids


def passages(
    user_id: UUID, *, embedding: list[float] | None, model_id: str, leave_out: InPrompt | None = None
) -> Found:
    """What was said in finished turns of the shown branches, ordered by conversation and position.

    ``embedding``: of the question, so weighed that its inner product with a message's vector is their similarity; what
    has no vector of ``model_id`` has none. ``leave_out``: what the prompt holds already. Nothing of temporary or
    deleted conversations, nor of those that keep nothing, save the one that is being talked in.
    """
    ids, session, position, said_at, speaker, traits, words, counts, terms, cosine = columns.fetch(
        PASSAGES,
        {
            "user_id": user_id,
            "here": leave_out.conversation_id if leave_out else None,
            "first_position": 2 * (leave_out.after_seq + 1) if leave_out else 0,
            "model_id": model_id,
            "dimensions": len(embedding or ()),
            "embedding": columns.halfvec(embedding) if embedding else None,
        },
    )
    sessions, positions, term_counts = columns.ints(session), columns.ints(position), columns.ints(counts)
    order = np.lexsort((positions, sessions))
    found = Passages(
        session=sessions[order],
        position=positions[order],
        is_assistant=positions[order] % 2 == 1,
        speaker=columns.ints(speaker)[order],
        said_at=columns.moments(said_at)[order],
        traits=columns.ints(traits, width=2)[order],
        words=columns.ints(words)[order],
        counts=term_counts[order],
        terms=columns.reordered(columns.packed_terms(terms), term_counts, order),
        cosine=columns.floats(cosine)[order],
    )
    return Found(found, columns.ids(ids).reordered(order))
