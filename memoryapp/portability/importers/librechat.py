"""LibreChat: one conversation in a file, its messages in a list or nested in each other."""

from collections.abc import Iterator
from typing import Any, Final

from memoryapp.portability.importers.conversations import Head, conversation, message
from memoryapp.portability.importers.items import Format, Item, Reason, Role, Said
from memoryapp.portability.importers.reader import Reader
from memoryapp.portability.importers.trees import Node, line
from memoryapp.portability.importers.values import first_text, mapping, mappings, sequence, text

_SILENT_PARTS: Final = frozenset(
    {
        "think", "tool_call", "image_file", "image_url", "video_url", "input_audio", "agent_update", "error",
        "summary", "steer",
    }
)  # fmt: skip


class LibreChatReader(Reader):
    format = Format.LIBRECHAT
    unread = frozenset({"tool_call", "contextMeta", "searchResults"})

    @staticmethod
    def recognises(entry: object) -> bool:
        found = mapping(entry)
        return "conversationId" in found and isinstance(_messages(found), list)

    def items(self, entry: object) -> Iterator[Item]:
        if not self.recognises(entry):
            return self.corrupted()
        found = mapping(entry)
        options = mapping(found.get("options"))
        by_id: dict[str, dict[str, Any]] = {}
        nodes: dict[str, Node] = {}
        for message_id, parent, one in _flat(sequence(_messages(found))):
            by_id[message_id] = one
            nodes[message_id] = Node(parent=parent, at=self.ledger.moment(one.get("createdAt")))
        way = line(nodes)
        head = Head(
            external_id=text(found.get("conversationId")),
            title=first_text(found, "title") or first_text(options, "title"),
            is_archived=found.get("isArchived") is True,
        )
        model = first_text(options, "model")
        said = (
            one for message_id in way.ids for one in self._said(by_id[message_id], nodes[message_id], model)
        )
        return conversation(self.ledger, head, said, branches_left=way.branches_left)

    def _said(self, found: dict[str, Any], node: Node, model: str) -> Iterator[Said]:
        if found.get("error") is True:
            return
        is_user = found.get("isCreatedByUser")
        if not isinstance(is_user, bool):
            is_user = text(found.get("sender")).lower() == "user"
        yield message(
            self.ledger,
            Role.USER if is_user else Role.ASSISTANT,
            text(found.get("text")) or self._parts(sequence(found.get("content"))),
            said_at=node.at,
            model=first_text(found, "model") or model,
            attachments=[
                self.ledger.attachment(first_text(one, "filename", "name"), one.get("text"))
                for one in mappings(found.get("files"))
            ],
        )

    def _parts(self, content: list[Any]) -> str:
        parts: list[str] = []
        for part in mappings(content):
            sort = text(part.get("type"))
            if sort == "text":
                spoken = part.get("text")
                parts.append(text(spoken) or text(mapping(spoken).get("value")))
            elif sort not in _SILENT_PARTS:
                self.ledger.leave_out(Reason.UNKNOWN_PART)
        return "\n\n".join(filter(None, parts))


def _messages(found: dict[str, Any]) -> object:
    return found.get("messages", found.get("messagesTree"))


def _flat(messages: list[Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(id, parent's id, message) in the order of the file; the nesting says who the parent is where there is one."""
    seen: set[str] = set()
    waiting = [("", one) for one in reversed(messages)]
    while waiting:
        above, one = waiting.pop()
        if not isinstance(one, dict):
            continue
        message_id = text(one.get("messageId"))
        if not message_id or message_id in seen:
            message_id = f"#{len(seen)}"
        seen.add(message_id)
        yield message_id, above or text(one.get("parentMessageId")), one
        waiting += [(message_id, child) for child in reversed(sequence(one.get("children")))]
