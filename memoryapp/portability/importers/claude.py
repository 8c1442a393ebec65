"""Claude: ``conversations.json``, ``memories.json`` and ``design_chats/*.json``, in one archive or in one each."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from memoryapp.portability.importers.conversations import Head, conversation, message
from memoryapp.portability.importers.items import Attachment, Fact, Format, Item, Reason, Role, Said
from memoryapp.portability.importers.reader import Reader
from memoryapp.portability.importers.statements import statements
from memoryapp.portability.importers.trees import Node, line
from memoryapp.portability.importers.values import first_text, mapping, mappings, sequence, text

SOURCE: Final = "import:claude"
# Not users.json (an address, a telephone number) and not projects (documents that nobody said).
_DOCUMENT: Final = re.compile(
    r"(?:.*/)?(?:conversations(?:-\d+)?\.json|memories(?:-\d+)?\.json|memories/[^/]+\.json|design_chats/[^/]+\.json)",
    re.IGNORECASE,
)
_ROLES: Final = {"human": Role.USER, "user": Role.USER, "assistant": Role.ASSISTANT}
_SILENT_BLOCKS: Final = frozenset(
    {
        "thinking", "redacted_thinking", "tool_use", "tool_result", "token_budget", "flag", "image", "document",
        "tool_call", "toolCall", "error",
    }
)  # fmt: skip
# Stands in a message's flat text for each block that the text cannot show.
_PLACEHOLDER: Final = re.compile(
    r"```\s{0,9}This block is not supported on your current device yet\.\s{0,9}```\s{0,9}"
)
_ROOTS: Final = frozenset({"00000000-0000-4000-8000-000000000000", "00000000-0000-0000-0000-000000000000"})


class ClaudeReader(Reader):
    format = Format.CLAUDE
    unread = frozenset(
        {"input", "signature", "display_content", "citations", "thinking", "summaries", "toolCall"}
    )

    @staticmethod
    def is_document(name: str) -> bool:
        return bool(_DOCUMENT.fullmatch(name))

    @staticmethod
    def recognises(entry: object) -> bool:
        found = mapping(entry)
        return isinstance(found.get("chat_messages"), list) or _is_memory(found) or _is_design_chat(found)

    def items(self, entry: object) -> Iterator[Item]:
        found = mapping(entry)
        if isinstance(found.get("chat_messages"), list):
            return self._conversation(found)
        if _is_memory(found):
            return self._facts(found)
        if _is_design_chat(found):
            return self._design_chat(found)
        return self.corrupted()

    def _conversation(self, entry: dict[str, Any]) -> Iterator[Item]:
        messages = list(mappings(entry["chat_messages"]))
        nodes = self._nodes(messages)
        by_id = dict(zip(nodes, messages, strict=True))
        way = line(nodes, current=text(entry.get("current_leaf_message_uuid")))
        said = (one for message_id in way.ids for one in self._said(by_id[message_id], nodes[message_id]))
        return conversation(self.ledger, self._head(entry), said, branches_left=way.branches_left)

    def _head(self, entry: dict[str, Any]) -> Head:
        return Head(
            external_id=first_text(entry, "uuid", "id"),
            title=first_text(entry, "name", "title"),
            started_at=self.ledger.moment(entry.get("created_at", entry.get("createdAt"))),
            updated_at=self.ledger.moment(entry.get("updated_at", entry.get("updatedAt"))),
            is_pinned=entry.get("is_starred") is True,
        )

    def _nodes(self, messages: list[dict[str, Any]]) -> dict[str, Node]:
        """A message without a parent that exists follows the one before it, unless it names the first one's root."""
        nodes: dict[str, Node] = {}
        ids = {text(one.get("uuid")) for one in messages}
        roots = _ROOTS | {text(one.get("parent_message_uuid")) for one in messages[:1]}
        previous: str | None = None
        for position, one in enumerate(messages):
            message_id = text(one.get("uuid"))
            if not message_id or message_id in nodes:
                message_id = f"#{position}"
            named = text(one.get("parent_message_uuid"))
            parent: str | None = named
            if not named or named not in ids:
                parent = None if named and named in roots else previous
            nodes[message_id] = Node(parent=parent, at=self.ledger.moment(one.get("created_at")))
            previous = message_id
        return nodes

    def _said(self, found: dict[str, Any], node: Node) -> Iterator[Said]:
        role = _ROLES.get(text(found.get("sender")))
        if role is None:
            self.ledger.leave_out(Reason.UNKNOWN_PART)
            return
        spoken = self._text_of(sequence(found.get("content")))
        yield message(
            self.ledger,
            role,
            spoken or _PLACEHOLDER.sub("", text(found.get("text"))),
            said_at=node.at,
            attachments=list(self._attachments(found)),
        )

    def _text_of(self, blocks: list[Any]) -> str:
        parts: list[str] = []
        for block in mappings(blocks):
            sort = text(block.get("type"))
            if sort == "text":
                parts.append(text(block.get("text")))
            elif sort not in _SILENT_BLOCKS:
                self.ledger.leave_out(Reason.UNKNOWN_PART)
        return "\n\n".join(part.strip() for part in parts if part.strip())

    def _attachments(self, found: dict[str, Any]) -> Iterator[Attachment | None]:
        for one in mappings(found.get("attachments")):
            yield self.ledger.attachment(
                first_text(one, "file_name", "name"), first_text(one, "extracted_content", "content")
            )
        for one in mappings(found.get("files")):
            yield self.ledger.attachment(one.get("file_name"))

    def _facts(self, entry: dict[str, Any]) -> Iterator[Item]:
        """What it remembered of all conversations, then of each project, then what it wrote into files of its own."""
        texts = chain(
            [text(entry.get("conversations_memory"))],
            map(text, mapping(entry.get("project_memories")).values()),
            (text(one.get("content")) for one in mappings(entry.get("memory_files"))),
        )
        at = self.ledger.moment(entry.get("updated_at", entry.get("created_at")))
        for whole in texts:
            for statement in statements(whole, most_chars=self.ledger.limits.fact_chars):
                yield Fact(statement, SOURCE, said_at=at)

    def _design_chat(self, entry: dict[str, Any]) -> Iterator[Item]:
        said = (one for found in mappings(entry["messages"]) for one in self._designed(found))
        return conversation(self.ledger, self._head(entry), said)

    def _designed(self, found: dict[str, Any]) -> Iterator[Said]:
        role = _ROLES.get(first_text(found, "role", "sender"))
        if role is None:
            self.ledger.leave_out(Reason.UNKNOWN_PART)
            return
        content = mapping(found.get("content"))
        blocks = sequence(content.get("contentBlocks", found.get("contentBlocks")))
        yield message(
            self.ledger,
            role,
            self._text_of(blocks)
            or first_text(content, "content", "text")
            or first_text(found, "content", "text"),
            said_at=self.ledger.moment(found.get("created_at", found.get("createdAt"))),
            attachments=list(self._attachments(content)),
        )


def _is_memory(entry: dict[str, Any]) -> bool:
    return not entry.keys().isdisjoint({"conversations_memory", "project_memories"})


def _is_design_chat(entry: dict[str, Any]) -> bool:
    """Only these have a project beside a flat list of messages."""
    return isinstance(entry.get("messages"), list) and "project" in entry and "uuid" in entry
