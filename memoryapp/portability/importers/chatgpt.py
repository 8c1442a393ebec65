"""ChatGPT: ``conversations.json`` or ``conversations-000.json`` …, a list of trees of messages."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from memoryapp.portability.importers.conversations import Head, conversation, message
from memoryapp.portability.importers.items import Fact, Format, Item, Reason, Role, Said
from memoryapp.portability.importers.ledger import Ledger
from memoryapp.portability.importers.reader import Reader
from memoryapp.portability.importers.statements import statements
from memoryapp.portability.importers.trees import Node, line
from memoryapp.portability.importers.values import first_text, mapping, mappings, sequence, text

SOURCE: Final = "import:chatgpt"
_DOCUMENT: Final = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json", re.IGNORECASE)
_SPOKEN: Final = frozenset({"text", "multimodal_text"})
# Sorts of content that are not part of what was said: tools at work, thoughts, what they showed.
_SILENT: Final = frozenset(
    {
        "code", "execution_output", "thoughts", "reasoning_recap", "tether_quote", "tether_browsing_display",
        "tether_browsing_code", "sonic_webpage", "system_error", "computer_output", "citable_code_output",
        "super_widget", "user_editable_context", "model_editable_context",
    }
)  # fmt: skip
_SILENT_PARTS: Final = frozenset(
    {
        "image_asset_pointer", "audio_asset_pointer", "video_container_asset_pointer",
        "real_time_user_audio_video_asset_pointer",
    }
)  # fmt: skip
# Private characters around a mark, its kind first: cite, url, entity, image_group …
_MARK: Final = re.compile("[ \t]?\ue200([^\ue200\ue201]*)\ue201")
_MARK_CHARACTER: Final = re.compile("[\ue200-\ue20f]")
_FOOTNOTE: Final = re.compile("[ \t]?【[^【】†]*†[^【】]*】")
_FENCE: Final = "```"
_SAVED: Final = re.compile(r"\s*\d{1,5}\.\s*(?:\[(\d{4}-\d{2}-\d{2})\]\.?\s*)?(.*)", re.DOTALL)
_SAVED_START: Final = re.compile(r"^(?=[ \t]*\d{1,5}\.\s)", re.MULTILINE)


class ChatGPTReader(Reader):
    """Custom instructions and saved memories stand in every conversation as they were then: the newest are taken."""

    format = Format.CHATGPT
    unread = frozenset(
        {
            "content_references", "citations", "safe_urls", "blocked_urls", "moderation_results", "thoughts",
            "search_result_groups", "aggregate_result", "_cite_metadata", "jit_plugin_data", "result",
        }
    )  # fmt: skip

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._standing: dict[str, tuple[datetime | None, list[Fact]]] = {}

    @staticmethod
    def is_document(name: str) -> bool:
        return bool(_DOCUMENT.fullmatch(name))

    @staticmethod
    def recognises(entry: object) -> bool:
        return isinstance(mapping(entry).get("mapping"), dict)

    def items(self, entry: object) -> Iterator[Item]:
        if not self.recognises(entry):
            return self.corrupted()
        return self._conversation(mapping(entry))

    def remaining(self) -> Iterator[Item]:
        return (fact for _, facts in self._standing.values() for fact in facts)

    def _conversation(self, entry: dict[str, Any]) -> Iterator[Item]:
        nodes = {
            node_id: Node(parent=node.get("parent") if isinstance(node.get("parent"), str) else None,
                          at=self._at(mapping(node.get("message"))))
            for node_id, node in entry["mapping"].items()
            if isinstance(node, dict)
        }  # fmt: skip
        head = Head(
            external_id=first_text(entry, "conversation_id", "id"),
            title=text(entry.get("title")),
            started_at=self.ledger.moment(entry.get("create_time")),
            updated_at=self.ledger.moment(entry.get("update_time")),
            is_archived=entry.get("is_archived") is True,
            is_pinned=entry.get("is_starred") is True or entry.get("pinned_time") is not None,
            is_not_to_remember=entry.get("is_do_not_remember") is True,
        )
        way = line(nodes, current=text(entry.get("current_node")))
        messages = [
            (found, nodes[node_id].at)
            for node_id in way.ids
            if (found := mapping(entry["mapping"][node_id].get("message")))
        ]
        if not head.is_not_to_remember:
            for found, at in messages:
                self._keep_standing(found, at or head.updated_at or head.started_at)
        model = text(entry.get("default_model_slug"))
        said = (one for found, at in messages for one in self._said(found, at, model))
        return conversation(self.ledger, head, said, branches_left=way.branches_left)

    def _at(self, found: dict[str, Any]) -> datetime | None:
        return self.ledger.moment(found.get("create_time"))

    def _said(self, found: dict[str, Any], at: datetime | None, model: str) -> Iterator[Said]:
        metadata = mapping(found.get("metadata"))
        role = text(mapping(found.get("author")).get("role"))
        content = mapping(found.get("content"))
        sort = text(content.get("content_type")) or "text"
        if sort not in _SPOKEN:
            if sort not in _SILENT:
                self.ledger.leave_out(Reason.UNKNOWN_PART)
            return
        if role not in {"user", "assistant"} or _is_hidden(found, metadata):
            return
        yield message(
            self.ledger,
            Role(role),
            without_marks("\n\n".join(self._parts(content))),
            said_at=at,
            model=text(metadata.get("model_slug")) or model,
            attachments=[
                self.ledger.attachment(one.get("name")) for one in mappings(metadata.get("attachments"))
            ],
        )

    def _parts(self, content: dict[str, Any]) -> Iterator[str]:
        parts = content.get("parts")
        for part in parts if isinstance(parts, list) else [content.get("text")]:
            spoken = part if isinstance(part, str) else text(mapping(part).get("text"))
            if spoken.strip():
                yield spoken
            elif _is_unknown(part):
                self.ledger.leave_out(Reason.UNKNOWN_PART)

    def _keep_standing(self, found: dict[str, Any], at: datetime | None) -> None:
        content = mapping(found.get("content"))
        sort = content.get("content_type")
        if sort == "user_editable_context":
            self._keep_if_newer("instructions", at, list(self._instructions(found, content, at)))
        elif sort == "model_editable_context":
            self._keep_if_newer("memories", at, list(self._saved(text(content.get("model_set_context")), at)))

    def _keep_if_newer(self, what: str, at: datetime | None, facts: list[Fact]) -> None:
        """An empty list changes nothing: where memory is off for one conversation, that is what it holds."""
        kept_at, kept = self._standing.get(what, (None, []))
        if facts and (not kept or kept_at is None or (at is not None and at >= kept_at)):
            self._standing[what] = (at, facts)

    def _instructions(
        self, found: dict[str, Any], content: dict[str, Any], at: datetime | None
    ) -> Iterator[Fact]:
        most_chars = self.ledger.limits.fact_chars
        # The content wraps what the person wrote into an explanation and a fence, the metadata has it bare.
        bare = mapping(mapping(found.get("metadata")).get("user_context_message_data"))
        about = first_text(bare, "about_user_message") or _unfenced(text(content.get("user_profile")))
        wishes = first_text(bare, "about_model_message") or _unfenced(text(content.get("user_instructions")))
        for statement in statements(about, most_chars=most_chars, by_line=True):
            yield Fact(statement, SOURCE, said_at=at)
        for statement in statements(wishes, most_chars=most_chars, by_line=True):
            yield Fact(statement, SOURCE, said_at=at, kind_hint="constraint")

    def _saved(self, listed: str, at: datetime | None) -> Iterator[Fact]:
        """``1. [2024-05-01]. Lives in Lisbon.`` and so on; a title may stand before it."""
        for row in _SAVED_START.split(listed):
            found = _SAVED.fullmatch(row)
            if not found:
                continue
            date, fact = found.groups()
            for statement in statements(fact, most_chars=self.ledger.limits.fact_chars):
                yield Fact(statement, SOURCE, said_at=self.ledger.moment(date) if date else at)


def _is_hidden(found: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """``weight`` is 0 on what was hidden or superseded; another recipient than all is a tool."""
    return (
        metadata.get("is_visually_hidden_from_conversation") is True
        or metadata.get("is_user_system_message") is True
        or found.get("weight") == 0
        or (text(found.get("recipient")) or "all") != "all"
    )


def _is_unknown(part: object) -> bool:
    return (
        isinstance(part, dict) and "text" not in part and text(part.get("content_type")) not in _SILENT_PARTS
    )


def _unfenced(wrapped: str) -> str:
    first, last = wrapped.find(_FENCE), wrapped.rfind(_FENCE)
    return wrapped[first + len(_FENCE) : last] if 0 <= first < last else wrapped


def without_marks(spoken: str) -> str:
    """Without the marks of citations, whose targets are not in the text; a name that was marked stays."""
    if "\ue200" in spoken:
        spoken = _MARK_CHARACTER.sub("", _MARK.sub(_shown, spoken))
    return _FOOTNOTE.sub("", spoken) if "†" in spoken else spoken


def _shown(mark: re.Match[str]) -> str:
    sort, _, arguments = mark[1].partition("\ue202")
    name = ""
    if sort == "url":
        name = arguments.partition("\ue202")[0]
    elif sort == "entity":
        name = _entity_name(arguments)
    return mark[0][: mark[0].index("\ue200")] + name if name else ""


def _entity_name(arguments: str) -> str:
    """``["city","Paris","capital of France"]`` → Paris."""
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
    return text(next(iter(sequence(found)[1:2]), ""))
