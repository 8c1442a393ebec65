"""The proof: tell an installation words that exist nowhere else, forget them, and look for them everywhere.

Each store is looked through twice: before, when the words must be found in it (or what was planted, where nothing that
people say belongs), and after, when neither may be. A store whose control is not found proves nothing, and fails.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, LiteralString

from memoryapp.proof import controls, deriving, doors, letting_go, neighbours, reading, stores, vectors
from memoryapp.proof.doors import Entered
from memoryapp.proof.installing import Place, standing
from memoryapp.proof.neighbours import Neighbours
from memoryapp.proof.reading import Readings
from memoryapp.proof.report import Report, Row
from memoryapp.proof.scanning import NUMBERS, VECTOR, Scanner
from memoryapp.proof.stores import Scanned, Store

SEED: Final = 20_261_130
G2_WITHIN_S: Final = 60.0


class Level(StrEnum):
    """How far something is gone; each is a promise of its own."""

    UNREADABLE = "G0"  # out of every read, at once
    DERIVED = "G2"  # nor anything made of it, within a minute
    STORED = "G3"  # nor in what the servers hold, within a quarter of an hour
    BYTES = "G4"  # nor in their files, within a day
    BACKUPS = "G5"  # nor in what a backup from before brings back


ALL: Final = tuple(Level)
_OPEN: Final[Mapping[Level, LiteralString]] = {
    Level.DERIVED: "SELECT count(*) FROM receipts_receipt WHERE undone_at IS NULL AND derived_at IS NULL",
    Level.STORED: "SELECT count(*) FROM receipts_receipt WHERE undone_at IS NULL AND stored_at IS NULL",
}


@dataclass(slots=True)
class _Before:
    """What was found before anything was forgotten, by the name of the store."""

    scanned: dict[str, Scanned] = field(default_factory=dict)
    readings: Readings = field(default_factory=Readings)
    neighbours_lost: int = 0
    backup: Path | None = None


@dataclass(slots=True)
class Proof:
    """``told``: finds the words and their vectors; with it the word that was planted."""

    place: Place
    entered: Sequence[Entered]
    neighbours: Neighbours
    levels: Sequence[Level]
    say: Callable[[str], None]
    told: Scanner
    numbers: Sequence[bytes]
    before: _Before = field(default_factory=_Before)
    rows: list[Row] = field(default_factory=list)

    @property
    def stem(self) -> str:
        return self.place.canaries.stem

    @property
    def control_stem(self) -> str:
        return self.place.canaries.control_stem

    # Before

    def look_before(self) -> None:
        place = self.place
        if Level.UNREADABLE in self.levels:
            self.say("Reading everything, while it is there …")
            self.before.readings = reading.all_paths(place, self.entered, self.words)
        self.before.neighbours_lost = self.neighbours.lost
        self.say("Looking through every store, while it is there …")
        with _planted(place):
            for store in self._stores():
                self.before.scanned[store.name] = store.scan(self.told)
        if Level.BACKUPS in self.levels:
            self.before.backup = place.aside / "backups" / "before.dump"
            place.manage("backup", str(self.before.backup))

    def _stores(self) -> Iterator[Store]:
        place = self.place
        if Level.DERIVED in self.levels:
            yield from stores.derived(place.database_url)
        if {Level.STORED, Level.BACKUPS} & {*self.levels}:
            yield from stores.logical(place.database_url, place.redis_url, numbers=self.numbers)
        if Level.BYTES in self.levels:
            yield from stores.physical(place.data_dir, place.database_url, output=place.output)

    @property
    def words(self) -> Scanner:
        return Scanner(self.stem)

    # After

    def forget(self) -> None:
        self.say("Forgetting …")
        letting_go.forget(self.place, self.entered)
        self.neighbours.forget_twin(self.place)

    def unreadable(self) -> None:
        self._read(Level.UNREADABLE, "read paths")

    def derived(self) -> None:
        took_s = self._wait_for(Level.DERIVED)
        self._scan(Level.DERIVED, stores.derived(self.place.database_url), more_s=took_s)

    def stored(self) -> None:
        took_s = self._wait_for(Level.STORED)
        place = self.place
        found = stores.logical(place.database_url, place.redis_url, numbers=self.numbers)
        self._scan(Level.STORED, found, more_s=took_s)

    def purged(self) -> None:
        place = self.place
        self._wait_for(Level.STORED)
        began_at = time.monotonic()
        place.manage("purge")
        took_s = time.monotonic() - began_at
        found = stores.physical(place.data_dir, place.database_url, output=place.output)
        self._scan(Level.BYTES, found, more_s=took_s)

    def restored(self) -> None:
        """A backup from before is put in the place of the database: what was forgotten since is forgotten again."""
        place, backup = self.place, self.before.backup
        assert backup
        self._wait_for(Level.STORED)
        began_at = time.monotonic()
        file = stores.backup(backup).scan(self.words)
        self.before.scanned["restored"] = file
        place.manage("restore", str(backup), "--replace")
        place.require(lambda: place.alice.get("/readyz").status == 200, "it serves again")
        took_s = time.monotonic() - began_at
        for store in stores.logical(place.database_url, place.redis_url, numbers=self.numbers):
            began_at = time.monotonic()
            found = store.scan(self.told)
            self.rows.append(
                Row(
                    Level.BACKUPS,
                    f"restored: {store.name}",
                    found.bytes_,
                    found.hits(self.stem),
                    time.monotonic() - began_at + took_s,
                    control_found=file.hits(self.stem) > 0 and self._is_found_before(store),
                    places=_places(found, self.stem),
                )
            )
            took_s = 0.0
        if Level.UNREADABLE in self.levels:
            self._read(Level.BACKUPS, "restored: read paths")

    def untouched(self, level: Level) -> None:
        """What nobody forgot is still there; Alice alone no longer has what Bob has, too."""
        began_at = time.monotonic()
        lost, leaks = self.neighbours.lost, self.neighbours.twin_leaks(self.place)
        places = [f"{lost} of {len(self.neighbours.kept)} lost"] if lost else []
        places += [f"Alice still finds what is Bob's, {leaks} times"] if leaks else []
        self.rows.append(
            Row(
                level,
                "neighbours",
                0,
                lost + leaks,
                time.monotonic() - began_at,
                control_found=self.before.neighbours_lost == 0,
                paths=len(self.neighbours.kept),
                places=places,
            )
        )

    def _wait_for(self, level: Level) -> float:
        """Until every receipt says so; ask for the sweep again and again, which otherwise comes each minute."""
        place = self.place
        place.let_time_pass()
        asked_at = 0.0

        def is_through() -> bool:
            nonlocal asked_at
            if time.monotonic() - asked_at > 2:
                asked_at = time.monotonic()
                place.sweep()
            return not place.rows(_OPEN[level])[0][0]

        return place.require(is_through, f"every receipt reached {level}", within_s=G2_WITHIN_S)

    def _read(self, level: Level, name: str) -> None:
        self.say(f"{level}: reading everything …")
        began_at = time.monotonic()
        found = reading.all_paths(self.place, self.entered, self.words)
        expected = {each.door for each in self.entered} - {*doors.UNKEPT}
        was_shown = expected <= self.before.readings.doors
        self._add_readings(level, name, found, time.monotonic() - began_at, was_shown=was_shown)

    def _add_readings(
        self, level: Level, name: str, found: Readings, seconds: float, *, was_shown: bool = True
    ) -> None:
        self.rows.append(
            Row(
                level,
                name,
                found.bytes_,
                found.leaks,
                seconds,
                control_found=was_shown,
                paths=found.paths,
                places=[f"{path}: {', '.join(sorted(words))}" for path, words in sorted(found.words.items())],
            )
        )

    def _scan(self, level: Level, found_in: Sequence[Store], *, more_s: float = 0.0) -> None:
        """``more_s``: what it took to get there, counted to the first."""
        self.say(f"{level}: looking …")
        for store in found_in:
            began_at = time.monotonic()
            found = store.scan(self.told)
            self.rows.append(
                Row(
                    level,
                    store.name,
                    found.bytes_,
                    found.hits(self.stem),
                    time.monotonic() - began_at + more_s,
                    control_found=self._is_found_before(store),
                    is_emptied=found.hits(self.control_stem) == 0,
                    places=_places(found, self.stem),
                )
            )
            more_s = 0.0

    def _is_found_before(self, store: Store) -> bool:
        before = self.before.scanned[store.name]
        is_told = before.hits(self.stem) > 0
        has_vectors = any(
            place.endswith((f"({VECTOR})", f"({NUMBERS})")) for place in before.places.get(self.stem, ())
        )
        is_planted = before.hits(self.control_stem) > 0 or store.name == "derived rows"
        return is_planted and (is_told or not store.is_told) and (has_vectors or not store.holds_vectors)


STEPS: Final[Mapping[Level, Callable[[Proof], None]]] = {
    Level.UNREADABLE: Proof.unreadable,
    Level.DERIVED: Proof.derived,
    Level.STORED: Proof.stored,
    Level.BYTES: Proof.purged,
    Level.BACKUPS: Proof.restored,
}


def prove(
    say: Callable[[str], None],
    *,
    levels: Sequence[Level] = ALL,
    only_doors: Sequence[str] = (),
    seed: int = SEED,
) -> Report:
    """On an installation of its own, of which nothing is left. ``only_doors``: not all of ``doors.DOORS``."""
    began_at = time.monotonic()
    say("Starting …")
    with standing(seed) as place:
        proof = tell(place, say, levels=levels, only_doors=only_doors)
        proof.look_before()
        proof.forget()
        for level in levels:
            say(f"{level} …")
            STEPS[level](proof)
            proof.untouched(level)
    return Report(proof.rows, time.monotonic() - began_at)


def tell(
    place: Place, say: Callable[[str], None], *, levels: Sequence[Level], only_doors: Sequence[str]
) -> Proof:
    say("Telling …")
    entered = doors.through_all(place, only=only_doors)
    around = neighbours.move_in(place)
    deriving.everything(place, entered)
    canaries = place.canaries
    fragments, numbers = vectors.of_words(place, canaries.stem)
    told = Scanner(canaries.stem, canaries.control_stem, fragments=fragments)
    return Proof(place, entered, around, levels, say, told, numbers)


@contextmanager
def _planted(place: Place) -> Iterator[None]:
    where = controls.Where(place.data_dir, place.database_url, place.redis_url)
    controls.plant(place.canaries.control.word, where)
    try:
        yield
    finally:
        controls.clear(where)


def _places(found: Scanned, stem: str) -> list[str]:
    return [f"{place}: {count}" for place, count in sorted(found.places.get(stem, {}).items())]
