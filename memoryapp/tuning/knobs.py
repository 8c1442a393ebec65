"""Which knobs an admin may turn while Strata runs, and what is said of each. Their ranges are those of ``Conf``.

Never on this list: secrets, addresses, ports, and what a process reads once when it starts.
"""

from dataclasses import dataclass
from enum import StrEnum

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
    """As it stands in its field; ``parse`` reads it back."""
    return value if isinstance(value, str) else f"{round(value * knob.scale, 6):,.15g}"


def parse(knob: Knob, written: str) -> Value:
    """What was written in its field; nothing is the default. Raises InvalidInputError that says what it may be."""
    written = written.strip()
    if not written:
        return knob.default
    if isinstance(knob.default, str):
        return _model_name(written)
    least, most = knob.range or (0.0, 0.0)
    is_whole = isinstance(knob.default, int)
    what = "a whole number" if is_whole else "a number"
    problem = InvalidInputError(f"Write {what} from {least:,.15g} to {most:,.15g}.")
    bare = written.replace(",", "")
    if not bare.isascii() or not bare.replace(".", "", 0 if is_whole else 1).isdigit() or len(bare) > 20:
        raise problem
    number = float(bare)
    if not least <= number <= most:
        raise problem
    return int(number) if is_whole else number / knob.scale


def _model_name(written: str) -> str:
    if len(written) > NAME_MAX_CHARS or not written.isprintable() or " " in written:
        raise InvalidInputError(f"A model's name has no spaces and at most {NAME_MAX_CHARS} characters.")
    return written


_PAD, _SAID, _KEPT, _MODEL, _BUDGET = Tier

KNOBS: tuple[Knob, ...] = (
    Knob("run_max_steps", _PAD, "Steps of a run", "steps", "Most tasks need three to six.",
         "Calls of the model, each with the tools it asks for. Then it asks whether to go on."),
    Knob("run_max_seconds", _PAD, "Time of a run", "seconds", "Nobody waits ten minutes in front of a chat.",
         "Of work: waiting does not count."),
    Knob("run_max_tokens", _PAD, "Tokens of a run", "tokens", "A full window in each of ten steps is not a loop yet.",
         "In and out, cached or not."),
    Knob("run_max_usd", _PAD, "Cost of a run", "US dollars", "Tokens bound it already, and need no prices.",
         "Needs the model’s prices.", zero="no limit"),
    Knob("scratchpad_max_tokens", _PAD, "Scratchpad in the prompt", "tokens",
         "Room for some forty short facts, and a hundredth of a window."),
    Knob("transcript_retention_days", _SAID, "Conversations are kept", "days",
         "What was said is what memories are traced back to.",
         "After the last message. Pinned ones stay.", zero="for ever"),
    Knob("temporary_hours", _SAID, "Temporary chats are kept", "hours",
         "One whose tab was never closed ends within a day, too.", "After the last message."),
    Knob("deleted_conversation_minutes", _SAID, "A deleted chat can be brought back", "minutes",
         "Long enough for a slip; deleted means gone the same day."),
    Knob("compaction_trigger_share", _SAID, "Summarise in the background from", "%",
         "Early enough that hardly any reply has to wait for it.", "Of what a prompt may hold."),
    Knob("compaction_wait_share", _SAID, "A reply waits for the summary from", "%",
         "One turn seldom takes the prompt from the one to the other."),
    Knob("compaction_target_share", _SAID, "A summary brings the prompt down to", "%",
         "One pass lasts for many turns, and the cached prompt with it."),
    Knob("compaction_keep_turns", _SAID, "Newest messages kept word for word", "messages",
         "As far as the target has room for them."),
    Knob("summary_max_tokens", _SAID, "Length of a summary", "tokens",
         "It is rolled up, not stacked: it must not grow with the chat."),
    Knob("compaction_breaker_minutes", _SAID, "Pause after three failed summaries", "minutes",
         "The model will not do better at once."),
    Knob("undo_minutes", _KEPT, "Forgetting can be undone", "minutes",
         "Long enough for a slip; within 15 minutes it is gone from everywhere.", zero="at once for good"),
    Knob("expired_hours", _KEPT, "What has expired can be brought back", "hours",
         "A day is enough to look at what is over.", zero="gone at once"),
    Knob("recall_max_tokens", _KEPT, "Recalled for a message", "tokens", "Some twenty short facts or messages."),
    Knob("recall_max_items", _KEPT, "Recalled for a message, at most", "items",
         "As many short messages as those tokens hold."),
    Knob("standing_max_tokens", _KEPT, "Always used", "tokens", "Some twenty facts, which take no answer’s place."),
    Knob("recall_min_confidence", _KEPT, "Confidence from which it is recalled", "%",
         "Measured: at 40 a question that no fact answers finds nothing 84 times in 100."),
    Knob("chat_model", _MODEL, "Model of the chat", "", "A good one at a middling price."),
    Knob("cheap_model", _MODEL, "Model of the background", "", "Summaries are frequent, and easier than the talk.",
         "Summaries, titles, what to remember."),
    Knob("window_tokens", _MODEL, "Window", "tokens", "Safe for every current model.",
         "Where the provider does not say."),
    Knob("max_output_tokens", _MODEL, "Longest reply", "tokens", "Safe for every current model."),
    Knob("daily_tokens", _BUDGET, "Tokens per person and day", "tokens", "An installation for few people needs none.",
         "In and out, replies and background together. A day ends at the person’s midnight.", zero="no limit"),
    Knob("daily_usd", _BUDGET, "Cost per person and day", "US dollars", "An installation for few people needs none.",
         "Counts only models whose prices are set.", zero="no limit"),
)  # fmt: skip

# The one must stay below the other: ``Conf`` checks it, and names but one of them.
PAIR = frozenset({"compaction_trigger_share", "compaction_wait_share"})

TUNABLE: dict[str, Knob] = {knob.name: knob for knob in KNOBS if knob.name in Conf.model_fields}
