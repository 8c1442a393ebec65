"""A conversation's title by the model, in place of the first words: asked for once, after the first finished turn."""

import logging
import re
from dataclasses import dataclass

from memoryapp.conf import get_conf
from memoryapp.lifecycle import daily_budget, prompts
from memoryapp.llm.base import ModelReply, Usage
from memoryapp.llm.errors import ModelError
from memoryapp.llm.jobs import whole_reply
from memoryapp.llm.registry import get_chat_model
from memoryapp.policies.fencing import as_data
from memoryapp.transcript import conversations, queries
from memoryapp.transcript.models import Conversation, Message, Turn
from memoryapp.transcript.operations import clean_title

logger = logging.getLogger(__name__)

USER_CHARS = 2_000
REPLY_CHARS = 1_000
MAX_TOKENS = 64  # six words need twenty
TITLE_MAX_CHARS = 60  # what is longer is an answer, not a title

_LEADING_MARKS = re.compile(r"^(?:#{1,6} |> |[-*+] )+")
_LABEL = re.compile(
    r"^(?:title|titel|titre|título|titolo|название|заголовок|标题|タイトル) ?[::] ?", re.IGNORECASE
)
_QUOTES = "\"'“”„‟«»‹›‘’‚「」『』* "
_ENDS = ".,;:!…。、"  # in any script
_NO_TITLE = {
    "untitled",
    "untitled conversation",
    "new chat",
    "new conversation",
    "conversation",
    "chat",
    "title",
    "none",
}


@dataclass(frozen=True, slots=True)
class Titled:
    """What asking came to: the title that was taken, or an empty one, and what the model spent."""

    title: str
    usage: Usage


def give_title_if_due(turn: Turn) -> Titled | None:
    """Ask the cheap model for a title, if this is the first finished turn of a conversation that has none.

    None when nobody was asked, or the model failed: the first words stay, and it is not asked again.
    """
    if not _is_due(turn):
        return None
    try:
        reply = _asked(turn)
    except ModelError as error:
        logger.warning("Conversation %s keeps its first words as title: %s", turn.conversation_id, error.code)
        return None
    title = title_in(reply.text) if reply.stop_reason == "end_turn" else ""
    is_taken = bool(title) and conversations.give_title(turn.conversation, title)
    return Titled(title if is_taken else "", reply.usage)


def title_in(answer: str) -> str:
    """The title in a model's answer, without quotes, marks or a label; empty when it holds none."""
    lines = [bare for line in answer.splitlines() if (bare := _bare(line))]
    title = lines[0] if lines else ""
    is_title = len(title) <= TITLE_MAX_CHARS and any(map(str.isalpha, title))
    return title if is_title and title.casefold() not in _NO_TITLE else ""


def _is_due(turn: Turn) -> bool:
    conversation = turn.conversation
    return (
        get_conf().model_titles
        and turn.status == Turn.Status.COMPLETED
        and conversation.title_source == Conversation.TitleSource.FIRST_WORDS
        and not conversation.is_temporary
        and get_chat_model().name != "offline"
        and queries.is_first_completed(turn)
        and not daily_budget.is_spent(turn.user_id)
    )


def _asked(turn: Turn) -> ModelReply:
    said = as_data(
        {
            "user": queries.text_of(turn, Message.Role.USER)[:USER_CHARS],
            "assistant": queries.text_of(turn, Message.Role.ASSISTANT)[:REPLY_CHARS],
        }
    )
    told = f"<conversation>\n{said}\n</conversation>\n\n{prompts.TITLE_NOW}"
    return whole_reply(prompts.TITLE, told, max_tokens=MAX_TOKENS)


def _bare(line: str) -> str:
    """Nothing for a line that only announces the next one."""
    text = _LEADING_MARKS.sub("", clean_title(line))
    text = text.replace("**", "").replace("__", "").replace("`", "")
    if text.endswith(":"):
        return ""
    return _LABEL.sub("", text.strip(_QUOTES)).strip(_QUOTES).rstrip(_ENDS).strip(_QUOTES)
