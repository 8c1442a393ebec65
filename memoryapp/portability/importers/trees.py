"""Which line of a conversation with branches is the conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Node:
    """``parent``: of a root None; one that does not exist makes a root too."""

    parent: str | None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """From the root to the end."""

    ids: Sequence[str]
    branches_left: int


def line(nodes: Mapping[str, Node], *, current: str = "") -> Line:
    """The line that ends at ``current``, or at the newest leaf where it is not a node.

    A node without a time has that of the one before it; of leaves as old as each other the last of the file is the
    newest. A cycle ends where it would begin again. Linear in the number of nodes.
    """
    parents = {node.parent for node in nodes.values()}
    leaves = [node_id for node_id in nodes if node_id not in parents]
    end = current if current in nodes else _newest(nodes, leaves or list(nodes))
    ids = _to_root(nodes, end)
    return Line(ids=ids[::-1], branches_left=sum(leaf != end for leaf in leaves))


def _to_root(nodes: Mapping[str, Node], end: str | None) -> list[str]:
    seen: dict[str, None] = {}
    while end is not None and end in nodes and end not in seen:
        seen[end] = None
        end = nodes[end].parent
    return list(seen)


def _newest(nodes: Mapping[str, Node], leaves: Sequence[str]) -> str | None:
    known: dict[str, datetime] = {}
    newest: str | None = None
    for leaf in leaves:
        if newest is None or _time(nodes, leaf, known) >= _time(nodes, newest, known):
            newest = leaf
    return newest


def _time(nodes: Mapping[str, Node], node_id: str, known: dict[str, datetime]) -> datetime:
    """``known`` remembers what was found on the way, so that no part of the tree is walked twice."""
    way: list[str] = []
    found = _LONG_AGO
    at: str | None = node_id
    while at is not None and at in nodes:
        if at in known:
            found = known[at]
            break
        known[at] = _LONG_AGO  # a cycle ends here
        way.append(at)
        if moment := nodes[at].at:
            found = moment
            break
        at = nodes[at].parent
    known.update(dict.fromkeys(way, found))
    return found
