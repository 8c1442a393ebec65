"""Which knobs an admin may turn while Strata runs, and what is said of each. Their ranges are those of ``Conf``.

Never on this list: secrets, addresses, ports, and what a process reads once when it starts.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from django.utils.formats import get_format
from django.utils.translation import gettext, gettext_noop

from memoryapp.conf import Conf, bounds
from memoryapp.errors import InvalidInputError

NAME_MAX_CHARS = 100  # of a model: as ``Turn.model`` keeps it
Value = int | float | str


class Tier(StrEnum):
    SCRATCHPAD = "scratchpad"
    TRANSCRIPT = "transcript"
    LONGTERM = "longterm"
    MODEL = "model"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class Knob:
    """``why``: why its default is what it is. ``zero``: what 0 means, where it means something of its own."""

    name: str
    tier: Tier
    label: str
    unit: str
    why: str
    help: str = ""
    zero: str = ""

    @property
    def default(self) -> Value:
        found = Conf.model_fields[self.name].default
        assert isinstance(found, int | float | str)
        return found

    @property
    def scale(self) -> int:
        """Shares are shown, and written, in per cent."""
        return 100 if self.unit == "%" else 1

    @property
    def range(self) -> tuple[float, float] | None:
        """As it is shown."""
        found = bounds(self.name)
        return (found[0] * self.scale, found[1] * self.scale) if found else None


def shown(knob: Knob, value: Value) -> str:
    """As it stands in its field, in the reader's way to write numbers; ``parse`` reads it back."""
    return value if isinstance(value, str) else number(round(value * knob.scale, 6))


def number(value: float) -> str:
    """In the reader's way to write numbers, without zeros at its end."""
    signs = {",": get_format("THOUSAND_SEPARATOR"), ".": get_format("DECIMAL_SEPARATOR")}
    return f"{value:,.15g}".translate(str.maketrans(signs))


def parse(knob: Knob, written: str) -> Value:
    """What was written in its field; nothing is the default. Raises InvalidInputError that says what it may be."""
    written = written.strip()
    if not written:
        return knob.default
    if isinstance(knob.default, str):
        return _model_name(written)
    is_whole = isinstance(knob.default, int)
    value = _value_of(written)
    least, most = knob.range or (0.0, 0.0)
    if value is None or not least <= value <= most or (is_whole and value != int(value)):
        raise _out_of_range(knob)
    return int(value) if is_whole else value / knob.scale


def _value_of(written: str) -> float | None:
    """Of a number in the reader's way. What groups thousands has to: nobody's "0,5" is read as five."""
    thousands, decimal = get_format("THOUSAND_SEPARATOR"), get_format("DECIMAL_SEPARATOR")
    grouped = rf"[1-9][0-9]{{0,2}}(?:{re.escape(thousands)}[0-9]{{3}})+"
    if (
        not re.fullmatch(rf"(?:{grouped}|[0-9]+)(?:{re.escape(decimal)}[0-9]+)?", written)
        or len(written) > 20
    ):
        return None
    return float(written.replace(thousands, "").replace(decimal, "."))


def _out_of_range(knob: Knob) -> InvalidInputError:
    if isinstance(knob.default, int):
        said = gettext("Write a whole number from {least} to {most}.")
    else:
        said = gettext("Write a number from {least} to {most}.")
    least, most = knob.range or (0.0, 0.0)
    return InvalidInputError(said.format(least=number(least), most=number(most)))


def _model_name(written: str) -> str:
    if len(written) > NAME_MAX_CHARS or not written.isprintable() or " " in written:
        said = gettext("A model's name has no spaces and at most {n} characters.")
        raise InvalidInputError(said.format(n=NAME_MAX_CHARS))
    return written


_PAD, _SAID, _KEPT, _MODEL, _BUDGET = Tier

KNOBS: tuple[Knob, ...] = (
    Knob("run_max_steps", _PAD, gettext_noop("Steps of a run"), "steps",
         gettext_noop("Most tasks need three to six."),
         gettext_noop("Calls of the model, each with the tools it asks for. Then it asks whether to go on.")),
    Knob("run_max_seconds", _PAD, gettext_noop("Time of a run"), "seconds",
         gettext_noop("Nobody waits ten minutes in front of a chat."),
         gettext_noop("Of work: waiting does not count.")),
    Knob("run_max_tokens", _PAD, gettext_noop("Tokens of a run"), "tokens",
         gettext_noop("A full window in each of ten steps is not a loop yet."),
         gettext_noop("In and out, cached or not.")),
    Knob("run_max_usd", _PAD, gettext_noop("Cost of a run"), "US dollars",
         gettext_noop("Tokens bound it already, and need no prices."),
         gettext_noop("Needs the model’s prices."),
         zero=gettext_noop("no limit")),
    Knob("scratchpad_max_tokens", _PAD, gettext_noop("Scratchpad in the prompt"), "tokens",
         gettext_noop("Room for some forty short facts, and a hundredth of a window.")),
    Knob("transcript_retention_days", _SAID, gettext_noop("Conversations are kept"), "days",
         gettext_noop("What was said is what memories are traced back to."),
         gettext_noop("After the last message. Pinned ones stay."),
         zero=gettext_noop("for ever")),
    Knob("temporary_hours", _SAID, gettext_noop("Temporary chats are kept"), "hours",
         gettext_noop("One whose tab was never closed ends within a day, too."),
         gettext_noop("After the last message.")),
    Knob("deleted_conversation_minutes", _SAID, gettext_noop("A deleted chat can be brought back"), "minutes",
         gettext_noop("Long enough for a slip; deleted means gone the same day.")),
    Knob("compaction_trigger_share", _SAID, gettext_noop("Summarise in the background from"), "%",
         gettext_noop("Early enough that hardly any reply has to wait for it."),
         gettext_noop("Of what a prompt may hold.")),
    Knob("compaction_wait_share", _SAID, gettext_noop("A reply waits for the summary from"), "%",
         gettext_noop("One turn seldom takes the prompt from the one to the other.")),
    Knob("compaction_target_share", _SAID, gettext_noop("A summary brings the prompt down to"), "%",
         gettext_noop("One pass lasts for many turns, and the cached prompt with it.")),
    Knob("compaction_keep_turns", _SAID, gettext_noop("Newest messages kept word for word"), "messages",
         gettext_noop("As far as the target has room for them.")),
    Knob("summary_max_tokens", _SAID, gettext_noop("Length of a summary"), "tokens",
         gettext_noop("It is rolled up, not stacked: it must not grow with the chat.")),
    Knob("compaction_breaker_minutes", _SAID, gettext_noop("Pause after three failed summaries"), "minutes",
         gettext_noop("The model will not do better at once.")),
    Knob("undo_minutes", _KEPT, gettext_noop("Forgetting can be undone"), "minutes",
         gettext_noop("Long enough for a slip; within 15 minutes it is gone from everywhere."),
         zero=gettext_noop("at once for good")),
    Knob("expired_hours", _KEPT, gettext_noop("What has expired can be brought back"), "hours",
         gettext_noop("A day is enough to look at what is over."),
         zero=gettext_noop("gone at once")),
    Knob("recall_max_tokens", _KEPT, gettext_noop("Recalled for a message"), "tokens",
         gettext_noop("Some twenty short facts or messages.")),
    Knob("recall_max_items", _KEPT, gettext_noop("Recalled for a message, at most"), "items",
         gettext_noop("As many short messages as those tokens hold.")),
    Knob("standing_max_tokens", _KEPT, gettext_noop("Always used"), "tokens",
         gettext_noop("Some twenty facts, which take no answer’s place.")),
    Knob("recall_min_confidence", _KEPT, gettext_noop("Confidence from which it is recalled"), "%",
         gettext_noop("Measured: at 40 a question that no fact answers finds nothing 84 times in 100.")),
    Knob("chat_model", _MODEL, gettext_noop("Model of the chat"), "",
         gettext_noop("A good one at a middling price.")),
    Knob("cheap_model", _MODEL, gettext_noop("Model of the background"), "",
         gettext_noop("Summaries are frequent, and easier than the talk."),
         gettext_noop("Summaries, titles, what to remember.")),
    Knob("window_tokens", _MODEL, gettext_noop("Window"), "tokens",
         gettext_noop("Safe for every current model."),
         gettext_noop("Where the provider does not say.")),
    Knob("max_output_tokens", _MODEL, gettext_noop("Longest reply"), "tokens",
         gettext_noop("Safe for every current model.")),
    Knob("daily_tokens", _BUDGET, gettext_noop("Tokens per person and day"), "tokens",
         gettext_noop("An installation for few people needs none."),
         gettext_noop("In and out, replies and background together. A day ends at the person’s midnight."),
         zero=gettext_noop("no limit")),
    Knob("daily_usd", _BUDGET, gettext_noop("Cost per person and day"), "US dollars",
         gettext_noop("An installation for few people needs none."),
         gettext_noop("Counts only models whose prices are set."),
         zero=gettext_noop("no limit")),
)  # fmt: skip

# The one must stay below the other: ``Conf`` checks it, and names but one of them.
PAIR = frozenset({"compaction_trigger_share", "compaction_wait_share"})

TUNABLE: dict[str, Knob] = {knob.name: knob for knob in KNOBS if knob.name in Conf.model_fields}
