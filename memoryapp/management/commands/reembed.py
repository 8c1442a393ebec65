"""``manage.py reembed``: after a change of the embedding model, vectors of the new one for all that is stored."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from memoryapp.embeddings.registry import get_embedder
from memoryapp.lifecycle import embedding
from memoryapp.lifecycle.embedding import Sort
from memoryapp.management.installation import InstallationCommand
from memoryapp.transcript import keys

KEYS_AT_ONCE = 1_000
SAID_EVERY_S = 2.0
STOPPED = 130  # as a shell says of what Ctrl-C ended


class Command(InstallationCommand):
    help = (
        "Embed everything that has no vector of the current model, while Strata goes on: what is not done yet is found "
        "by its words. Stopped with Ctrl-C, it goes on where it was the next time."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        began_at = time.monotonic()
        with _until_interrupted() as is_interrupted:
            while not is_interrupted() and keys.keep_missing(limit=KEYS_AT_ONCE):
                continue
            self.stdout.write(f"The model is {get_embedder().model_id}.")
            done = sum(self._embed(name, sort, is_interrupted) for name, sort in embedding.SORTS.items())
        took_s = time.monotonic() - began_at
        if is_interrupted():
            self.stdout.write(f"Stopped after {done:,} rows. Run it again to go on from there.")
            raise SystemExit(STOPPED)
        self.stdout.write(f"Done: {_rate(done, took_s)}.")

    def _embed(self, name: str, sort: Sort, is_interrupted: Callable[[], bool]) -> int:
        waiting, done = sort.count(), 0
        began_at = said_at = time.monotonic()
        for embedded in _while_not(is_interrupted, sort.embed()):
            done += embedded
            if time.monotonic() - said_at >= SAID_EVERY_S:
                said_at = time.monotonic()
                self.stdout.write(f"{name}: {done:,} of {waiting:,}, {_rate(done, said_at - began_at)}")
        self.stdout.write(f"{name}: {_rate(done, time.monotonic() - began_at)}")
        return done


def _rate(rows: int, took_s: float) -> str:
    return f"{rows:,} rows in {took_s:.1f} s, {rows / max(took_s, 0.001):.1f} per second"


def _while_not(is_interrupted: Callable[[], bool], batches: Iterator[int]) -> Iterator[int]:
    while not is_interrupted() and (embedded := next(batches, None)) is not None:
        yield embedded


@contextmanager
def _until_interrupted() -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM are heard between two batches, so that the one being made is kept."""
    heard: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, _frame: heard.append(number)) for number in numbers]
    try:
        yield lambda: bool(heard)
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
