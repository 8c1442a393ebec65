"""The pytest plugin that says which tests stay on one process of pytest-xdist, and which begin.

A file is never divided, and files that share an installation stay together. Those that start processes come first: they
take longest, and at the end one process would wait for the other.
"""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

TOGETHER = (
    ("tests/browser/facts/",),
    (
        "tests/browser/test_chats_list.py",
        "tests/browser/test_first_conversation.py",
        "tests/browser/test_memory.py",
    ),
)


class Scheduling(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


def unit(nodeid: str) -> str:
    """What the test stays together with."""
    return next((files[0] for files in TOGETHER if nodeid.startswith(files)), nodeid.split("::", 1)[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    # By the number of tests it would order: files with few slow ones would end the run.
    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    starting = {unit(item.nodeid) for item in items if item.get_closest_marker("stack")}
    items.sort(key=lambda item: unit(item.nodeid) not in starting)  # and otherwise as they were
