"""The example server of the documentation, set up as its page says."""

import runpy
import socket
from pathlib import Path

import pytest

from memoryapp.tooling import operations
from memoryapp.tooling.mcp import tools_of
from tests.tool_contexts import tool_context
from tests.tooling.mcp_server import serving
from tests.turns import start

SERVER = Path(__file__).resolve().parents[2] / "docs/example-mcp/server.py"


@pytest.fixture
def url():
    app = runpy.run_path(str(SERVER))["server"].streamable_http_app()
    listener = socket.create_server(("127.0.0.1", 0))
    with serving(app, listener):
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


def test_its_tool_is_listed_and_answers(alice, set_up, url):
    server = set_up(url, token="", slug="example")
    conversation = start(alice)
    operations.use_server(alice.id, conversation.id, server.id, is_on=True)

    [tool] = tools_of(alice.id, conversation.id)
    output = tool.run(tool.checked({"article": "green tea"}), tool_context())

    assert tool.name == "mcp_example_in_stock"
    assert "12" in str(output.content)
