"""Open WebUI: a list of chats, each with a tree of messages in its history."""

from collections.abc import Iterator
from typing import Any, Final

from memoryapp.portability.importers.conversations import Head, conversation, message
from memoryapp.portability.importers.items import Format, Item, Reason, Role, Said
from memoryapp.portability.importers.reader import Reader
from memoryapp.portability.importers.trees import Node, line
from memoryapp.portability.importers.values import first_text, mapping, mappings, sequence, text

_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT}
_SILENT_ROLES: Final = frozenset({"system", "tool", "developer"})
_SILENT_OUTPUT: Final = frozenset({"reasoning", "function_call", "function_call_output"})
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_SILENT_PARTS: Final = frozenset({"image_url", "input_image", "file", "input_file", "refusal"})
_BLOCK: Final = "<details"
_BLOCK_END: Final = "</details>"
_BLOCK_TYPES: Final = tuple(f'type="{sort}"' for sort in ("reasoning", "tool_calls", "code_interpreter"))


class OpenWebUIReader(Reader):
    format = Format.OPENWEBUI
    unread = frozenset({"statusHistory", "sources", "usage", "embeds", "docs"})

    @staticmethod
    def recognises(entry: object) -> bool:
        chat = mapping(mapping(entry).get("chat"))
        return isinstance(mapping(chat.get("history")).get("messages"), dict) or isinstance(
            chat.get("messages"), list
        )

    def items(self, entry: object) -> Iterator[Item]:
        if not self.recognises(entry):
            return self.corrupted()
        found = mapping(entry)
        chat = mapping(found.get("chat"))
        history = mapping(chat.get("history"))
        by_id = {
            message_id: one
            for message_id, one in mapping(history.get("messages")).items()
            if isinstance(one, dict)
        } or {f"#{position}": one for position, one in enumerate(mappings(chat.get("messages")))}
        nodes = self._nodes(by_id, is_tree="history" in chat)
        way = line(nodes, current=first_text(history, "currentId", "current_id"))
        head = Head(
            external_id=first_text(found, "id") or first_text(chat, "id"),
            title=first_text(found, "title") or first_text(chat, "title"),
            started_at=self.ledger.moment(found.get("created_at", chat.get("timestamp"))),
            updated_at=self.ledger.moment(found.get("updated_at")),
            is_archived=found.get("archived") is True,
            is_pinned=found.get("pinned") is True,
        )
        said = (one for message_id in way.ids for one in self._said(by_id[message_id], nodes[message_id]))
        return conversation(self.ledger, head, said, branches_left=way.branches_left)

    def _nodes(self, by_id: dict[str, dict[str, Any]], *, is_tree: bool) -> dict[str, Node]:
        nodes: dict[str, Node] = {}
        previous: str | None = None
        for message_id, one in by_id.items():
            parent = text(one.get("parentId")) if is_tree else previous
            nodes[message_id] = Node(parent=parent, at=self.ledger.moment(one.get("timestamp")))
            previous = message_id
        return nodes

    def _said(self, found: dict[str, Any], node: Node) -> Iterator[Said]:
        sort = text(found.get("role"))
        role = _ROLES.get(sort)
        if role is None:
            self.ledger.leave_out(Reason.UNKNOWN_PART, int(sort not in _SILENT_ROLES))
            return
        spoken = self._text_of(found.get("content"))
        if role is Role.ASSISTANT:
            spoken = self._output(sequence(found.get("output"))) or without_blocks(spoken)
        yield message(
            self.ledger,
            role,
            spoken,
            said_at=node.at,
            model=text(found.get("model")),
            attachments=[
                self.ledger.attachment(
                    first_text(one, "name") or first_text(mapping(one.get("file")), "filename")
                )
                for one in mappings(found.get("files"))
            ],
        )

    def _output(self, output: list[Any]) -> str:
        """What was answered, in the newer form that keeps thoughts and tools apart from it."""
        parts: list[str] = []
        for one in mappings(output):
            sort = text(one.get("type"))
            if sort == "message":
                parts.append(self._text_of(one.get("content")).strip())
            elif sort not in _SILENT_OUTPUT and not sort.endswith(("_call", "_call_output")):
                self.ledger.leave_out(Reason.UNKNOWN_PART)
        return "\n\n".join(filter(None, parts))

    def _text_of(self, content: object) -> str:
        if isinstance(content, str):
            return content
        parts: list[str] = []
        for part in mappings(content):
            sort = text(part.get("type"))
            if sort in _TEXTS:
                parts.append(text(part.get("text")))
            elif sort not in _SILENT_PARTS:
                self.ledger.leave_out(Reason.UNKNOWN_PART)
        return "\n\n".join(filter(None, parts))


def without_blocks(spoken: str) -> str:
    """Without thoughts and tools at work (to the end where one was never closed); other details stay."""
    kept: list[str] = []
    at = 0
    while (start := spoken.find(_BLOCK, at)) >= 0:
        end_of_tag = spoken.find(">", start)
        if end_of_tag < 0:
            break
        tag = spoken[start:end_of_tag]
        if not any(sort in tag for sort in _BLOCK_TYPES):
            kept.append(spoken[at : end_of_tag + 1])
            at = end_of_tag + 1
            continue
        kept.append(spoken[at:start])
        end = spoken.find(_BLOCK_END, end_of_tag)
        if end < 0:
            return "".join(kept)
        at = end + len(_BLOCK_END)
    return "".join([*kept, spoken[at:]])
