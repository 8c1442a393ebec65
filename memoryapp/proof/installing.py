"""The installation that a proof is made on: as people start it, with an echoing model, on a directory of its own."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, LiteralString

import psycopg
from celery import Celery
from psycopg import sql

from memoryapp.bench.commands import manage
from memoryapp.bench.installation import (
    BenchFailedError,
    Installation,
    own_environment,
    running,
    throw_away_directory,
)
from memoryapp.celery import broker_url
from memoryapp.embedded.data_directory import DataDirectory
from memoryapp.proof import note_server
from memoryapp.proof.canaries import Canaries
from memoryapp.proof.echoing_model import EchoingModel
from memoryapp.proof.note_tool import on_a_path
from memoryapp.proof.people import Person

# So that what happens in the background happens now, and everyone may come in.
_VARIABLES: Final = {
    "STRATA_IS_SIGNUP_OPEN": "true",
    "STRATA_EXTRACTION_DELAY_S": "0",
    "STRATA_COMPACTION_KEEP_TURNS": "1",
}
_UNDOABLE: LiteralString = """
SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'undo_until'
"""
_LOOK_EVERY_S: Final = 0.1
PATIENCE_S: Final = 60.0
_SWEEPS: Final = ("memoryapp.lifecycle.tasks.sweep", "memoryapp.forgetting.tasks.advance")


@dataclass(frozen=True, slots=True)
class Place:
    """An installation that is up, who is there, and what they are told by.

    ``output``: what its programs print; ``aside``: a directory that is not its;
    ``note_server``: the address of an MCP server.
    """

    installation: Installation
    model: EchoingModel
    canaries: Canaries
    output: Path
    aside: Path
    note_server: str
    alice: Person
    bob: Person
    admin: Person

    @property
    def data_dir(self) -> Path:
        return self.installation.data_dir

    @property
    def database_url(self) -> str:
        return self.installation.database_url()

    @property
    def redis_url(self) -> str:
        running_ = DataDirectory(self.data_dir).running()
        if running_ is None:
            raise BenchFailedError("The installation ended early.")
        return running_.redis_url

    def rows(self, query: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            return connection.execute(query, values).fetchall()

    def change(self, query: sql.Composed) -> None:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            connection.execute(query)

    def sweep(self) -> None:
        """Ask now for what happens each minute."""
        with Celery(broker=broker_url(self.redis_url), set_as_current=False) as app:
            app.conf.broker_transport_options = {"global_keyprefix": "celery:"}
            for sweep in _SWEEPS:
                app.send_task(sweep, queue="memory", ignore_result=True)

    def let_time_pass(self) -> None:
        """Until nothing that was forgotten can be brought back: its rows go with the next sweep."""
        for (table,) in self.rows(_UNDOABLE):
            self.change(
                sql.SQL(
                    "UPDATE {} SET undo_until = now() - interval '1 second' WHERE undo_until > now()"
                ).format(sql.Identifier(table))
            )

    def manage(self, *arguments: str) -> str:
        """The last line that a management command prints, run on this installation."""
        return manage([*arguments, "--data-dir", str(self.data_dir)], own_environment(self.data_dir))

    def require(self, is_reached: Callable[[], bool], what: str, *, within_s: float = PATIENCE_S) -> float:
        """Wait for it; how long that took."""
        began_at = time.monotonic()
        while not is_reached():
            if time.monotonic() - began_at > within_s:
                raise BenchFailedError(f"It did not happen that {what}.\n{self._last_words()}")
            time.sleep(_LOOK_EVERY_S)
        return time.monotonic() - began_at

    def _last_words(self) -> str:
        return "\n".join(self.output.read_text(errors="replace").splitlines()[-30:])


@contextmanager
def standing(seed: int, *, variables: Mapping[str, str] | None = None) -> Iterator[Place]:
    """An installation of its own, with three accounts; nothing of it stays."""
    with ExitStack() as cleanup:
        directory = cleanup.enter_context(throw_away_directory())
        model = cleanup.enter_context(EchoingModel().serving())
        aside = Path(cleanup.enter_context(TemporaryDirectory(prefix="strata-proof-")))
        output = aside / "output"
        settings = {**_VARIABLES, "PYTHONPATH": str(on_a_path(aside)), **(variables or {})}
        installation = cleanup.enter_context(
            running(directory, model_url=model.url, variables=settings, output=output)
        )
        yield Place(
            installation,
            model,
            Canaries(seed),
            output,
            aside,
            note_server=cleanup.enter_context(note_server.serving()),
            alice=Person.signed_up(installation.port, "alice"),
            bob=Person.signed_up(installation.port, "bob"),
            admin=Person.signed_in(installation.port, "admin", link=installation.sign_in_path),
        )
