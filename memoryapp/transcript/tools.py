"""The transcript's tool of the model: ``search_conversations``, for what the prompt no longer holds."""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from memoryapp.errors import InvalidInputError
from memoryapp.llm.base import ToolDefinition
from memoryapp.policies.trust import Origin, weakest
from memoryapp.tooling.base import Arguments, Tool, ToolContext, ToolOutput
from memoryapp.transcript import queries
from memoryapp.transcript.models import Message, Turn
from memoryapp.transcript.search import QUERY_MAX_CHARS, FoundMessage, search_messages

MAX_ITEMS = 10
MAX_TURNS = 10
QUERY_CHARS = QUERY_MAX_CHARS // 2  # of one question
ITEM_CHARS = 4_000
SNIPPET_CHARS = 390  # and an ellipsis on both sides
MAX_OUTPUT_CHARS = 2 * MAX_TURNS * ITEM_CHARS + 20_000  # each item is cut by itself, so that none is lost
CUT = "… [cut; {left:,} more characters]"
_TURNS = re.compile(r"([0-9]{1,9})(?:\s*[-–]\s*([0-9]{1,9}))?")


class SearchConversationsArguments(Arguments):
    query: Annotated[str, Field(max_length=QUERY_CHARS)] = ""
    turns: Annotated[str, Field(max_length=30)] = ""
    limit: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = 5


_DEFINITION = ToolDefinition(
    name="search_conversations",
    description=(
        "Look up what was said earlier, word for word: by the user or by you, in this conversation (also before the "
        "summary) or in another one. Use it when a summary leaves something out, or when exact words, numbers, names "
        "or identifiers matter and are not in front of you; do not guess them. Give either a query or turns. An empty "
        "list means that it was not said."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": QUERY_CHARS,
                "description": (
                    'The words to find, in the language they were said in. "Quoted words" must stand together, '
                    "-word must not occur. Rare words find more than a whole question."
                ),
            },
            "turns": {
                "type": "string",
                "description": (
                    "Turns of this conversation to read in full, by the numbers a summary gives: "
                    f"'84' or '80-84', at most {MAX_TURNS}."
                ),
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_ITEMS,
                "description": "How many messages a query finds at most; 5 unless given.",
            },
        },
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class _Said:
    conversation: str
    is_this_one: bool
    turn: int
    who: str
    said_at: datetime
    text: str
    taint: Origin

    @property
    def origin(self) -> Origin:
        """The assistant only concludes, from what its turn had before it."""
        is_inferred = self.who == Message.Role.ASSISTANT
        return weakest([self.taint, Origin.MODEL_INFERRED] if is_inferred else [self.taint])


def run_search_conversations(arguments: SearchConversationsArguments, context: ToolContext) -> ToolOutput:
    """``items``: what was said. The origin is the weakest in it, and in the turns that it was said in.

    Only what is on the shown branch; of a query's results, nothing of the turns being answered, which the prompt holds.
    """
    query = arguments.query.strip()
    if bool(query) == bool(arguments.turns.strip()):
        raise InvalidInputError("Give either a query or turns, not both and not neither.")
    said = _found(query, arguments.limit, context) if query else _read(arguments.turns, context)
    content = json.dumps({"items": [_item(item) for item in said]}, ensure_ascii=False)
    looked_up = query or f"turns {arguments.turns}"
    origin = weakest(item.origin for item in said)
    return ToolOutput(content, origin=origin, done=f"searched conversations: {looked_up}")


SEARCH_CONVERSATIONS = Tool(
    _DEFINITION,
    SearchConversationsArguments,
    run_search_conversations,
    timeout_s=None,
    max_output_chars=MAX_OUTPUT_CHARS,
)


def _found(query: str, limit: int, context: ToolContext) -> list[_Said]:
    here = context.conversation_id
    answered = queries.turns(context.user_id, here).filter(status__in=Turn.LIVE)
    live = set(answered.values_list("seq", flat=True))
    hits = search_messages(
        context.user_id,
        query,
        # Of a turn being answered there is the user's message only.
        limit=limit + len(live) + len(context.without),
        conversation_id=None if context.may_search_others else here,
        only_current=True,
        snippet_chars=SNIPPET_CHARS,
    )
    news = [
        hit
        for hit in hits
        if not (hit.conversation_id == here and hit.seq in live) and hit.message_id not in context.without
    ]
    return [_of_hit(hit, here) for hit in news[:limit]]


def _of_hit(hit: FoundMessage, conversation_id: UUID) -> _Said:
    return _Said(
        conversation=hit.title,
        is_this_one=hit.conversation_id == conversation_id,
        turn=hit.seq,
        who=hit.role,
        said_at=hit.said_at,
        text="".join(text for text, _ in hit.snippet),
        taint=hit.taint,
    )


def _read(asked: str, context: ToolContext) -> list[_Said]:
    first, last = _range(asked)
    conversation = queries.get_conversation(context.user_id, context.conversation_id)
    turns = queries.turns(context.user_id, context.conversation_id).filter(seq__gte=first, seq__lte=last)
    if not turns:
        raise InvalidInputError(
            f"There is no such turn: this conversation has turns 1-{conversation.last_seq}."
        )
    return [
        _Said(
            conversation=conversation.title,
            is_this_one=True,
            turn=turn.seq,
            who=role,
            said_at=turn.created_at,
            text=_cut(text),
            taint=Origin(turn.taint),
        )
        for turn in turns
        for role in (Message.Role.USER, Message.Role.ASSISTANT)
        if (text := queries.text_of(turn, role))
    ]


def _range(asked: str) -> tuple[int, int]:
    written = _TURNS.fullmatch(asked.strip())
    if written is None:
        raise InvalidInputError("Give turns as one number or a range: '84' or '80-84'.")
    first = int(written[1])
    last = int(written[2] or first)
    if not 0 <= last - first < MAX_TURNS:
        raise InvalidInputError(f"Give at most {MAX_TURNS} turns, the first before the last: '80-84'.")
    return first, last


def _cut(text: str) -> str:
    if len(text) <= ITEM_CHARS:
        return text
    kept = ITEM_CHARS - len(CUT.format(left=len(text)))
    return text[:kept] + CUT.format(left=len(text) - kept)


def _item(said: _Said) -> dict[str, object]:
    return {
        "conversation": said.conversation,
        "is_this_one": said.is_this_one,
        "turn": said.turn,
        "who": said.who,
        "said_on": said.said_at.date().isoformat(),
        "text": said.text,
    }
