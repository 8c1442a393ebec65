from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memoryapp.portability.importers.trees import Node, line


def at(minute):
    return datetime(2025, 1, 1, 0, minute, tzinfo=UTC)


def test_a_leaf_without_a_time_is_as_old_as_the_one_before_it():
    nodes = {
        "root": Node(None, at(1)),
        "new": Node("root", at(3)),
        "newest": Node("new"),
        "old": Node("root", at(2)),
    }

    assert line(nodes).ids == ["root", "new", "newest"]


def test_an_inner_node_may_be_the_end_and_what_follows_it_is_left():
    nodes = {"a": Node(None), "b": Node("a"), "c": Node("b"), "d": Node("b")}

    assert line(nodes, current="b").ids == ["a", "b"]
    assert line(nodes, current="b").branches_left == 2


def test_no_nodes_are_no_line():
    assert line({}).ids == []


def test_a_very_long_chain_with_a_leaf_at_every_node_takes_no_longer_than_it_is():
    size = 20_000
    chain = {str(number): Node(str(number - 1)) for number in range(size)}
    leaves = {f"leaf {number}": Node(str(number)) for number in range(size)}

    found = line({**chain, **leaves})

    assert len(found.ids) == size + 1
    assert found.branches_left == size - 1


@given(st.dictionaries(st.sampled_from("abcdef"), st.builds(Node, st.none() | st.sampled_from("abcdefg"))))
def test_every_line_follows_parents_and_has_no_node_twice(nodes):
    found = line(nodes).ids

    assert len(set(found)) == len(found)
    assert bool(found) == bool(nodes)
    assert all(nodes[child].parent == parent for parent, child in pairwise(found))
