"""What is configured at this moment, for a room that may not ask who sets it: what stands above it says so once."""

from collections.abc import Callable

from memoryapp.conf import Conf, get_conf

_sources: list[Callable[[], Conf]] = [get_conf]


def configured() -> Conf:
    return _sources[-1]()


def configure_by(source: Callable[[], Conf]) -> None:
    """Ask ``source`` from now on, each time anew; it must be cheap, and callable from any thread."""
    _sources[:] = [source]
