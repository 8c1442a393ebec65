"""Tools of installed packages: found once, checked, and never a reason for a turn to fail."""

import logging
import sys
from importlib import invalidate_caches
from pathlib import Path

import pytest

from memoryapp.tooling.registry import added_tools

PREAMBLE = """
from memoryapp.llm.base import ToolDefinition
from memoryapp.tooling.base import Arguments, Tool, ToolOutput

def tool(name, description="Does it.", schema={"type": "object", "properties": {}}, **marks):
    definition = ToolDefinition(name, description, schema)
    return Tool(definition, None, lambda arguments, context: ToolOutput("done"), **marks)
"""


@pytest.fixture(autouse=True)
def _read_once_per_test():
    added_tools.cache_clear()
    yield
    added_tools.cache_clear()


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Puts a package with these entry points where Python finds it. ``code``: of its one module."""
    monkeypatch.syspath_prepend(tmp_path)
    modules = []

    def install(name: str, code: str, **entry_points: str) -> Path:
        module = f"registry_test_{name.replace('-', '_')}"
        modules.append(module)
        (tmp_path / f"{module}.py").write_text(PREAMBLE + code)
        metadata = tmp_path / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"{entry} = {module}:{value}" for entry, value in entry_points.items()]
        (metadata / "entry_points.txt").write_text("\n".join(["[strata.tools]", *lines, ""]))
        invalidate_caches()
        return tmp_path

    yield install
    for module in modules:
        sys.modules.pop(module, None)


def found(*taken: str) -> list[tuple[str, str]]:
    return [(tool.name, tool.source) for tool in added_tools(frozenset(taken))]


def test_without_packages_there_are_none():
    assert added_tools() == ()


@pytest.mark.parametrize(
    "code",
    [
        "offered = tool('wave')",
        "offered = lambda: tool('wave')",
        "offered = lambda: [tool('wave')]",
        "offered = lambda: (tool(name) for name in ['wave'])",
        "offered = [tool('wave')]",
    ],
)
def test_a_tool_or_what_returns_tools_is_taken(install, code):
    install("waving", code, it="offered")

    assert found() == [("wave", "waving")]


def test_tools_are_in_the_order_of_their_names_whatever_package_they_are_of(install):
    install("b-package", "offered = lambda: [tool('zip'), tool('cut')]", it="offered")
    install("a-package", "offered, other = tool('saw'), tool('axe')", two="offered", one="other")

    assert found() == [("axe", "a-package"), ("cut", "b-package"), ("saw", "a-package"), ("zip", "b-package")]


def test_packages_are_read_once_in_a_process(install):
    root = install("waving", "offered = tool('wave')", it="offered")
    first = added_tools()
    (root / "registry_test_waving-1.0.dist-info" / "entry_points.txt").unlink()

    assert added_tools() is first


def test_the_source_is_the_package_whatever_the_tool_says(install):
    install(
        "waving",
        "import dataclasses\noffered = dataclasses.replace(tool('wave'), source='Strata')",
        it="offered",
    )

    assert found() == [("wave", "waving")]


BROKEN = {
    "it does not import": ("import no_such_module", "'registry_test_broken:offered' failed"),
    "it fails": ("def offered(): raise ValueError('boom')", "failed"),
    "it fails halfway": ("def offered():\n    yield tool('early')\n    raise ValueError", "failed"),
    "it ends the program": ("import sys\nsys.exit(3)", "failed"),
    "it is not there": ("", "failed"),
    "it is no tool": ("offered = 3", "failed"),
    "it is a text": ("offered = 'wave'", "failed"),
    "it is none": ("offered = None", "failed"),
    "it returns other things": ("offered = lambda: [3]", "it is not a Tool, but a int"),
    "it needs arguments": ("def offered(wanted): return []", "failed"),
    "its name has a space": ("offered = tool('wave hand')", "'wave hand' is not a name"),
    "its name is empty": ("offered = tool('')", "'' is not a name"),
    "its name is too long": ("offered = tool('w' * 65)", "is not a name"),
    "its name ends in a newline": ("offered = tool('wave\\n')", "is not a name"),
    "its name is no text": ("offered = tool(3)", "3 is not a name"),
    "its name is that of a server's": ("offered = tool('mcp_wave')", "mcp_wave begins with mcp_"),
    "it is interrupted": ("raise KeyboardInterrupt", "failed"),
    "it has no definition": (
        "offered = Tool(None, None, print)",
        "its definition is not a ToolDefinition, but a NoneType",
    ),
    "it has no description": ("offered = tool('wave', '')", "wave has no description"),
    "its description is blank": ("offered = tool('wave', ' ')", "wave has no description"),
    "its description is a number": ("offered = tool('wave', 5)", "wave has no description"),
    "its description is half a character": (
        "offered = tool('wave', 'a' + chr(0xD800))",
        "wave has no description",
    ),
    "its schema is an array": ("offered = tool('wave', schema={'type': 'array'})", "no object"),
    "its schema has no type": ("offered = tool('wave', schema={})", "no object"),
    "its schema is none": ("offered = tool('wave', schema=None)", "no object"),
    "its schema is no JSON": ("offered = tool('wave', schema={'type': 'object', 'x': {1, 2}})", "no JSON"),
    "its schema holds half a character": (
        "offered = tool('wave', schema={'type': 'object', 'x': chr(0xD800)})",
        "no JSON",
    ),
    "its schema holds itself": (
        "schema = {'type': 'object'}\nschema['x'] = schema\noffered = tool('wave', schema=schema)",
        "no JSON",
    ),
    "its schema is one that the Messages API refuses": (
        "offered = tool('wave', schema={'type': 'object', 'anyOf': []})",
        "wave cannot be offered: its schema has one of oneOf, anyOf, allOf at the top",
    ),
    **{
        f"its timeout_s is {value}": (f"offered = tool('wave', timeout_s={value})", "wave has a timeout_s")
        for value in ("'20'", "0", "-1", "True", "float('nan')", "float('inf')")
    },
    **{
        f"its max_output_chars is {value}": (
            f"offered = tool('wave', max_output_chars={value})",
            "wave has a max_output_chars",
        )
        for value in ("199", "None", "1e3", "True")
    },
}


@pytest.mark.parametrize(("code", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_broken_package_is_left_out_with_one_sentence_and_the_others_stay(install, caplog, code, problem):
    install("broken", code, it="offered")
    install("waving", "offered = tool('wave')", it="offered")

    with caplog.at_level(logging.ERROR):
        tools = found()

    assert tools == [("wave", "waving")]
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1
    assert problem in messages[0]
    assert "broken" in messages[0]


def test_the_smallest_limits_and_none_at_all_are_taken(install):
    code = "offered = [tool('cut', timeout_s=0.1, max_output_chars=200), tool('saw', timeout_s=None)]"
    install("cutting", code, it="offered")

    assert found() == [("cut", "cutting"), ("saw", "cutting")]


def test_one_broken_tool_does_not_take_its_neighbours_away(install):
    install("waving", "offered = lambda: [tool('wave hand'), tool('wave')]", it="offered")

    assert found() == [("wave", "waving")]


def test_names_of_the_built_in_tools_cannot_be_had(install, caplog):
    install("greedy", "offered = lambda: [tool('remember'), tool('wave')]", it="offered")

    assert found("remember", "recall") == [("wave", "greedy")]
    assert "The tool remember of greedy is left out: the name is taken." in caplog.messages


def test_of_two_packages_with_one_name_the_first_by_its_own_name_has_it(install, caplog):
    install("zeta", "offered = tool('wave', 'Second.')", it="offered")
    install("alpha", "offered = tool('wave', 'First.')", it="offered")

    assert found() == [("wave", "alpha")]
    assert "The tool wave of zeta is left out: the name is taken." in caplog.messages
