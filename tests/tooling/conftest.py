"""A server of tools, and what an admin has said about it."""

from collections.abc import Callable, Iterator

import pytest
from django.utils import timezone

from memoryapp.tooling import operations
from memoryapp.tooling.models import McpServer
from tests.tooling.mcp_server import TOKEN, RunningServer, running_mcp_server
from tests.turns import configure, model, nudges

__all__ = ["configure", "model", "nudges"]


@pytest.fixture(scope="module")
def tools_server() -> Iterator[RunningServer]:
    with running_mcp_server() as server:
        yield server


@pytest.fixture
def set_up(db: None) -> Callable[..., McpServer]:
    """``set_up(url, token=…, slug=…)``: as an admin saves a server, and it is asked for its tools."""

    def set_up(url: str, *, token: str = TOKEN, **fields: object) -> McpServer:
        server = McpServer(**{"slug": "tests", "name": "Test tools", "url": url, "timeout_s": 10, **fields})
        operations.save_server(server, token=token)
        return operations.refresh_tools(server, now=timezone.now())

    return set_up


@pytest.fixture
def server(set_up: Callable[..., McpServer], tools_server: RunningServer) -> McpServer:
    return set_up(tools_server.url)
