"""Every knob of the application: typed, bounded, with its unit in its name and why this default.

Values come from the environment (``STRATA_<NAME>``, or the conventional name given as an alias), else from
files of those names, in lower case, in ``STRATA_SECRETS_DIR`` (default ``/run/secrets``, where containers find
theirs), which is where secrets belong. This module imports nothing of the application;
``docs/configuration.md`` lists the same names and a test keeps the two in step.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


def _named(name: str) -> AliasChoices:
    return AliasChoices(name, f"STRATA_{name}")


_SCHEMES = {
    "database_url": ("postgresql", "postgres"),
    "redis_url": ("redis", "rediss", "unix"),
}


# The same bounds whether a knob is set for all models or for one.
WindowTokens = Annotated[int, Field(ge=4_000, le=10_000_000)]
MaxOutputTokens = Annotated[int, Field(ge=256, le=128_000)]
TriggerShare = Annotated[float, Field(ge=0.1, le=0.9)]
WaitShare = Annotated[float, Field(ge=0.2, le=0.98)]
UsdPerMillion = Annotated[float, Field(ge=0, le=10_000)]


class ModelOverrides(BaseModel):
    """What ``STRATA_MODEL_SETTINGS`` may say of one model; what it leaves out is as for all."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    window_tokens: WindowTokens | None = None
    max_output_tokens: MaxOutputTokens | None = None
    compaction_trigger_share: TriggerShare | None = None
    compaction_wait_share: WaitShare | None = None
    usd_per_million_input: UsdPerMillion | None = None
    usd_per_million_output: UsdPerMillion | None = None

    @model_validator(mode="after")
    def _prices_come_in_pairs(self) -> Self:
        if (self.usd_per_million_input is None) != (self.usd_per_million_output is None):
            raise ValueError("give both prices or none: usd_per_million_input and usd_per_million_output")
        return self


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What configuration says of one model.

    The tokens are None unless set for this very model: then the provider's word counts, and after it
    ``Conf.window_tokens`` and ``Conf.max_output_tokens`` (``ChatModel.limits`` asks in that order).
    ``prices`` are US dollars per million tokens, of input and of output; None when nobody said.
    """

    window_tokens: int | None
    max_output_tokens: int | None
    compaction_trigger_share: float
    compaction_wait_share: float
    prices: tuple[float, float] | None

    def usd(self, *, input_tokens: int, output_tokens: int) -> float | None:
        """At the full price, whatever the cache saved; None when nobody said the prices."""
        if self.prices is None:
            return None
        return (input_tokens * self.prices[0] + output_tokens * self.prices[1]) / 1_000_000


def _check_shares(trigger_share: float, wait_share: float) -> None:
    if trigger_share >= wait_share:
        raise ValueError("compaction_trigger_share must be less than compaction_wait_share")


class Conf(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="STRATA_",
        frozen=True,
        extra="ignore",
        env_ignore_empty=True,
        # A mistyped value is named in the error and not shown: it may be a secret in the wrong variable.
        hide_input_in_errors=True,
    )

    # Where the state is. Empty means: the embedded servers of ``manage.py up`` (which sets both for its children).
    database_url: str = Field("", validation_alias=_named("DATABASE_URL"))
    redis_url: str = Field("", validation_alias=_named("REDIS_URL"))

    # Web. An empty key is accepted in development only; ``manage.py up`` keeps one in its data directory.
    secret_key: SecretStr = Field(SecretStr(""), validation_alias=_named("SECRET_KEY"))
    allowed_hosts: Annotated[list[str], NoDecode] = Field(default_factory=list)
    # The public address, e.g. https://strata.example; decides secure cookies, HSTS and CSRF's trusted origin.
    base_url: str = ""
    # One proxy hop in front sets X-Forwarded-Proto and X-Forwarded-For; off, because a direct client could forge both.
    is_behind_proxy: bool = False
    # The first account is made by ``manage.py prepare``; strangers come in only when the operator lets them.
    is_signup_open: bool = False
    session_age_days: int = Field(14, ge=1, le=365)  # two weeks, Django's own default
    sign_in_link_minutes: int = Field(
        60, ge=1, le=24 * 60
    )  # long enough to read the terminal, short enough to leak
    api_token_days: int = Field(365, ge=1, le=3650)  # a forgotten token ends within a year

    # The model. Without a key and without a base URL the deterministic offline responder answers.
    anthropic_api_key: SecretStr = Field(SecretStr(""), validation_alias=_named("ANTHROPIC_API_KEY"))
    anthropic_base_url: str = Field("", validation_alias=_named("ANTHROPIC_BASE_URL"))
    chat_model: str = "claude-sonnet-5-5"
    cheap_model: str = "claude-haiku-5-5"  # summaries: frequent, and easier than the talk itself
    # Used when the provider does not report limits; 200k and 8k are safe for every current model.
    window_tokens: WindowTokens = 200_000
    max_output_tokens: MaxOutputTokens = 8_192
    # Silence of the provider, not the length of the reply; long thinking sends pings well within a minute.
    model_timeout_s: float = Field(90.0, ge=1, le=600)
    model_connect_timeout_s: float = Field(5.0, ge=0.1, le=60)
    # Attempts per call before anything was shown: 1 + 3 rides out a rate limit without hiding an outage.
    model_max_retries: int = Field(3, ge=0, le=10)
    # A provider may ask for hours; past this the turn fails with the time, for nobody sits in front of it that long.
    model_max_retry_wait_s: float = Field(120.0, ge=0, le=3_600)

    # Embeddings.
    embedder: Literal["bundled", "voyage"] = "bundled"
    # Which local model: "pair" is MiniLM and USE together, best over short facts and dialogue (docs/adr/0007);
    # "minilm" reads English only and is a little better on dialogue; "use" is the fastest, in half the memory.
    bundled_model: Literal["pair", "minilm", "use"] = "pair"
    voyage_api_key: SecretStr = Field(SecretStr(""), validation_alias=_named("VOYAGE_API_KEY"))
    voyage_base_url: str = "https://api.voyageai.com"
    voyage_model: str = "voyage-3.5"
    # Per attempt. A question waits for its vector, and recall by words alone is better than a long wait.
    voyage_timeout_s: float = Field(5.0, ge=0.1, le=120)
    voyage_max_retries: int = Field(
        2, ge=0, le=10
    )  # 1 + 2 attempts outlast a rate limit or a dropped connection
    embedding_threads: int = Field(2, ge=1, le=64)  # more brings nothing on short texts
    embedding_batch_size: int = Field(8, ge=1, le=256)  # 8 keeps the bundled model's memory near 300 MB

    # Turns.
    turn_threads: int = Field(16, ge=1, le=256)  # a thread mostly waits for the model: it costs about 1 MB
    # Lease and reaper: a killed worker's turn is taken over within lease + reap interval (20 s at most).
    turn_lease_s: float = Field(12.0, ge=2, le=300)
    reap_interval_s: float = Field(4.0, ge=0.5, le=60)
    turn_max_attempts: int = Field(
        3, ge=1, le=10
    )  # a poisonous turn ends instead of killing workers for ever
    message_max_chars: int = Field(
        100_000, ge=1_000, le=1_000_000
    )  # about 25k tokens: larger belongs in a file
    # Of one run, until a person says to go on. Steps are calls of the model, each with the tools it asks for.
    run_max_steps: int = Field(16, ge=1, le=200)
    run_max_seconds: int = Field(600, ge=10, le=24 * 3600)  # of work: waiting does not count
    # In and out, cached or not: a full window in each of ten steps is not a loop yet.
    run_max_tokens: int = Field(2_000_000, ge=1_000, le=1_000_000_000)
    run_max_usd: float = Field(0.0, ge=0, le=10_000)  # 0: no limit; needs the model's prices
    run_stall_steps: int = Field(6, ge=3, le=100)  # so many tool calls that tell nothing new pause the run
    approval_hours: float = Field(24.0, ge=0.01, le=30 * 24)  # a question nobody answers in a day is moot
    # What a worker that is told to leave gives a running reply; ``up`` kills after 6 s, containers after 30 s.
    drain_seconds: float = Field(4.0, ge=0, le=600)
    stream_seconds: int = Field(300, ge=10, le=3600)  # then the browser reconnects and resumes
    stream_heartbeat_s: float = Field(
        15.0, ge=1, le=60
    )  # under the 30–60 s that proxies allow a silent connection
    stream_keep_seconds: int = Field(3600, ge=60, le=24 * 3600)  # how long a reply's events can be replayed
    stream_max_events: int = Field(20_000, ge=1_000, le=1_000_000)

    # Context.
    scratchpad_max_tokens: int = Field(1_500, ge=200, le=20_000)
    recall_max_tokens: int = Field(1_000, ge=100, le=20_000)
    # What is always used, beside what the question finds, so that it takes no answer's place: some twenty facts.
    standing_max_tokens: int = Field(2_000, ge=100, le=20_000)
    # As many short messages as those tokens hold: what answers a question about conversations is spread over several.
    recall_max_items: int = Field(24, ge=1, le=100)
    # Measured (docs/adr/0007): at 0.40 a question that no fact answers finds nothing 84 times in 100, and 82 of
    # 100 facts found do answer; at 0.30 it is 80 and 72, for 4 more of 100 answers found.
    recall_min_confidence: float = Field(0.40, ge=0, le=1)
    compaction_trigger_share: TriggerShare = 0.60  # after a turn, in the background
    # A turn waits for the summary only here: what one turn adds seldom takes the prompt from the one to the other.
    compaction_wait_share: WaitShare = 0.90
    # Well under the trigger, so that one pass lasts for many turns and the cached prefix with it.
    compaction_target_share: float = Field(0.30, ge=0.05, le=0.8)
    # Newest turns that stay verbatim, as far as the target share has room for them.
    compaction_keep_turns: int = Field(20, ge=1, le=1_000)
    # A summary is rolled up, not stacked: it must not grow with the conversation.
    summary_max_tokens: int = Field(2_000, ge=200, le=20_000)
    # Off: summaries are made by extraction alone, and no text is sent to the cheap model for them.
    model_summaries: bool = True
    # Lines kept word for word are part of every prompt, and nothing ever drops them.
    pinned_max_tokens: int = Field(1_500, ge=100, le=20_000)
    # After three fallbacks in a row a conversation is left alone this long: the model will not do better at once.
    compaction_breaker_minutes: int = Field(15, ge=1, le=24 * 60)
    # Models that differ from all this, as JSON by name. Declared after the shares that its check needs.
    model_settings: Annotated[dict[str, ModelOverrides], NoDecode] = Field(default_factory=dict)

    # Experiences: what finished runs teach.
    # Off: they are put together by code, and no text is sent to the cheap model for them.
    model_experiences: bool = True
    # A message and an earlier goal that are at least so near are the same sort of task: measured for the bundled
    # embedders (memoryapp.policies.experiences); another one may need another value.
    experience_min_cosine: float = Field(0.40, ge=0, le=1)
    # Two lessons are read; more would crowd out what is known about the person.
    experience_max_items: int = Field(2, ge=0, le=10)
    # More than anybody looks through, and little enough to compare with every message.
    experiences_per_user: int = Field(200, ge=1, le=10_000)

    # Extraction: what is learned from a conversation in the background.
    # Quiet for so long after a turn before it is read: a person who goes on within it is read once, not per message.
    extraction_delay_s: float = Field(20.0, ge=0, le=3_600)
    # Off: rules find plain statements in English, and no text is sent to the cheap model for them.
    model_extraction: bool = True

    # Conversations.
    # One small call of the cheap model for each; without it the first words are the title.
    model_titles: bool = True
    # A temporary chat whose tab was never closed ends, too.
    temporary_hours: int = Field(24, ge=1, le=30 * 24)
    # How long a deleted chat can be brought back; a day at most, for what was forgotten must be gone by then.
    deleted_conversation_minutes: int = Field(60, ge=1, le=24 * 60)

    # How long what was said is kept after the last message; 0: for ever, for it is what memories are traced back to.
    transcript_retention_days: int = Field(0, ge=0, le=36_500)

    # What one person may use in a day of theirs, in and out, replies and background together. 0: no limit.
    daily_tokens: int = Field(0, ge=0, le=1_000_000_000)
    daily_usd: float = Field(0.0, ge=0, le=10_000)  # needs the models' prices

    # Long-term memory limits: a flood from one turn or one person stays bounded.
    statement_max_chars: int = Field(2_000, ge=100, le=20_000)
    memories_per_turn: int = Field(20, ge=1, le=1_000)
    # More than a person settles in a day: a page that plants statements fills no list without end.
    pending_per_day: int = Field(50, ge=1, le=10_000)
    memories_per_user: int = Field(20_000, ge=100, le=10_000_000)
    # How long who did what to memory, and who read it, is kept: a year answers "since when" for every kind of fact.
    activity_days: int = Field(365, ge=1, le=3650)
    tombstone_days: int = Field(365, ge=1, le=3650)  # how long a forgetting is enforced against re-learning
    # How long a forgetting can be undone; under a quarter of an hour, within which no dump may hold what is forgotten.
    undo_minutes: int = Field(10, ge=0, le=14)
    # What has expired is out of every read at once; a day later is soon enough to miss it, then it is deleted.
    expired_hours: int = Field(24, ge=0, le=168)

    # A file that is imported, unpacked or not: exports of other chats reach some hundred megabytes.
    import_max_mb: int = Field(500, ge=1, le=4096)

    # Forgetting, down to the bytes: what is deleted is in no file of this server so many hours later. 0: only when
    # ``manage.py purge`` says so.
    purge_hours: int = Field(24, ge=0, le=168)
    backup_days: int = Field(30, ge=1, le=3650)  # a month answers most accidents, and is what people are told
    # What the model's provider keeps, as its contract says; nobody but the operator can know.
    provider_retention_days: int | None = Field(None, ge=0, le=3650)
    # Where erasures are written down, for a restore to repeat them; ``manage.py up`` names one in its data directory.
    erasures_file: str = ""
    # A directory of logs, ``*.log``, that a purge ends and later deletes; ``manage.py up`` names that of its data.
    logs_dir: str = ""

    # Tools. Off: a page that the model opens is a way out for what it knows and a way in for what strangers wrote.
    fetch_page: bool = False
    # Everything together, with redirects: a slower page is not worth the wait in a chat.
    fetch_total_s: float = Field(15.0, ge=1, le=120)
    fetch_connect_s: float = Field(5.0, ge=0.1, le=60)  # per address and for the TLS handshake
    # On the wire and after unpacking. Articles have a tenth of it; two megabytes made to be slow take 2 s to parse.
    fetch_max_bytes: int = Field(2_000_000, ge=10_000, le=5_000_000)
    fetch_max_redirects: int = Field(5, ge=0, le=5)  # http to https, a new host, a language: three are common

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    # "json": one object a line, with a line for each request, for a log collector; people read "plain" more easily.
    log_format: Literal["plain", "json"] = "plain"
    # Lets a scraper read /metrics; without it only staff can, by their session or an API token of theirs.
    metrics_token: SecretStr = Field(SecretStr(""), validation_alias=_named("METRICS_TOKEN"))

    @field_validator("database_url", "redis_url")
    @classmethod
    def _is_of_a_known_kind(cls, value: str, info: ValidationInfo) -> str:
        known = _SCHEMES[str(info.field_name)]
        if value and urlsplit(value).scheme not in known:
            raise ValueError(f"write it as {known[0]}://…")
        return value

    @field_validator("compaction_wait_share")
    @classmethod
    def _waits_after_the_trigger(cls, value: float, info: ValidationInfo) -> float:
        _check_shares(info.data.get("compaction_trigger_share", 0), value)
        return value

    @field_validator("model_settings", mode="before")
    @classmethod
    def _parse_json(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            # The parser's own message would quote the text.
            raise ValueError('is not JSON; write it as {"<model>": {"window_tokens": 32000}}') from None

    @field_validator("model_settings")
    @classmethod
    def _each_model_waits_after_its_trigger(
        cls, value: dict[str, ModelOverrides], info: ValidationInfo
    ) -> dict[str, ModelOverrides]:
        for name, own in value.items():
            trigger = own.compaction_trigger_share or info.data.get("compaction_trigger_share", 0)
            wait = own.compaction_wait_share or info.data.get("compaction_wait_share", 1)
            try:
                _check_shares(trigger, wait)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return value

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        return (
            [host for part in value.split(",") if (host := part.strip())] if isinstance(value, str) else value
        )

    def with_values(self, values: Mapping[str, object]) -> Self:
        """A copy with these values in place of its own, checked as at the start. Raises ``ValidationError``."""
        own = {_argument(name): getattr(self, name) for name in type(self).model_fields}
        return type(self)(
            _secrets_dir=None, **own | {_argument(name): value for name, value in values.items()}
        )

    def for_model(self, name: str) -> ModelSettings:
        """The settings of the model called ``name`` by its provider, known here or not."""
        own = self.model_settings.get(name, ModelOverrides())
        price_in, price_out = own.usd_per_million_input, own.usd_per_million_output
        return ModelSettings(
            window_tokens=own.window_tokens,
            max_output_tokens=own.max_output_tokens,
            compaction_trigger_share=own.compaction_trigger_share or self.compaction_trigger_share,
            compaction_wait_share=own.compaction_wait_share or self.compaction_wait_share,
            prices=None if price_in is None or price_out is None else (price_in, price_out),
        )


# Without their prefix: read by the lookup of files below, by the compose file, by the README's examples.
_NAMES_ELSEWHERE = frozenset({"SECRETS_DIR", "PORT", "IMAGE", "CPUS", "URL"})


@lru_cache(maxsize=1)
def get_conf() -> Conf:
    """The process's configuration, read once. Tests clear the cache after changing the environment.

    A wrong value ends the process with one message and status 1, whichever program reads it (``manage.py``,
    ``celery``, ``uvicorn``): an exception would bury the message under each one's traceback.
    """
    secrets_dir = Path(os.environ.get("STRATA_SECRETS_DIR", "/run/secrets"))
    try:
        return Conf(_secrets_dir=secrets_dir if secrets_dir.is_dir() else None)
    except ValidationError as error:
        sys.exit("\n".join(["Strata does not start with these settings:", *_problems(error)]))


def unknown_variables(names: Iterable[str]) -> Iterator[str]:
    """One sentence for each environment variable that looks like ours and is read by nothing."""
    known = {name.upper() for name in Conf.model_fields} | _NAMES_ELSEWHERE
    for name in sorted(names):
        bare = name.upper().removeprefix("STRATA_")  # the prefix would make everything look alike
        if bare != name.upper() and bare not in known:
            meant = get_close_matches(bare, known, n=1)
            hint = f" Did you mean STRATA_{meant[0]}?" if meant else ""
            yield f"There is no setting {name}; it is ignored.{hint}"


def bounds(field: str) -> tuple[float, float] | None:
    """The least and the greatest value that the declaration allows; None for what has no range."""
    declared = Conf.model_fields[field].metadata if field in Conf.model_fields else []
    low = next((rule.ge for rule in declared if hasattr(rule, "ge")), None)
    high = next((rule.le for rule in declared if hasattr(rule, "le")), None)
    return None if low is None or high is None else (low, high)


def _argument(field: str) -> str:
    """By what the constructor knows it."""
    alias = Conf.model_fields[field].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else field


def _variables(field: str) -> tuple[str, ...]:
    alias = Conf.model_fields[field].validation_alias
    if isinstance(alias, AliasChoices):
        return tuple(map(str, alias.choices))
    return (f"STRATA_{field.upper()}",)


def _problems(error: ValidationError) -> Iterator[str]:
    """Each names the variable and what it may be, never the value: it may be a secret in the wrong place."""
    for problem in error.errors(include_input=False, include_context=False, include_url=False):
        field = str(problem["loc"][0])
        variable = _variables(field)[0] if field in Conf.model_fields else field
        # Inside JSON the path to the wrong part: names that it may hold, no values.
        path = "".join(f"{part}: " for part in problem["loc"][1:])
        yield f"- {variable}: {path}{problem['msg']}{_bounds(field)}"


def _bounds(field: str) -> str:
    """The range that the declaration gives, as " (1 to 256)"; nothing for what has none."""
    found = bounds(field)
    return f" ({found[0]:,} to {found[1]:,})" if found else ""
