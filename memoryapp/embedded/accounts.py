"""The system user that the servers run as when we are root, which Postgres refuses to be."""

import os
import pwd
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from memoryapp.embedded.errors import EmbeddedError

SERVICE_USER = "strata"


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    uid: int
    gid: int

    def own(self, directory: Path) -> None:
        """Make this private directory the account's."""
        os.chown(directory, self.uid, self.gid)

    def can_enter(self, directory: Path) -> bool:
        """Whether the account may pass through every directory on the way and into this one."""
        return self.closed_parent(directory) is None

    def closed_parent(self, directory: Path) -> Path | None:
        """The outermost directory on the way that keeps the account out, if any; what is not there does not."""
        path = directory.resolve()
        for each in filter(Path.exists, (*reversed(path.parents), path)):
            status = each.stat()
            needed = stat.S_IXUSR if status.st_uid == self.uid else stat.S_IXOTH
            if not status.st_mode & needed:
                return each
        return None


def service_account(cluster: Path) -> Account | None:
    """The account to drop to, or None when we are not root and simply stay who we are.

    Existing data keeps its owner; new data goes to a system user of its own, or to ``nobody`` where none can
    be made.
    """
    if os.geteuid() != 0:
        return None
    if cluster.exists() and (owner := cluster.stat().st_uid) != 0:
        return _account_of(owner)
    for name in (SERVICE_USER, "nobody"):
        if account := _find(name) or _create(name):
            return account
    raise EmbeddedError(
        "PostgreSQL does not run as root and there is no system user to run it as. "
        f"Create one ('useradd --system {SERVICE_USER}'), or start as an ordinary user."
    )


def _account_of(uid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedError(
            f"The database files belong to user id {uid}, which does not exist here."
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _find(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _create(name: str) -> Account | None:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd is None:
        return None
    subprocess.run(
        [
            useradd,
            "--system",
            "--no-create-home",
            "--home-dir",
            "/nonexistent",
            "--shell",
            "/usr/sbin/nologin",
            name,
        ],
        check=False,  # another process may have been faster; what counts is whether the user exists now
        capture_output=True,
    )
    return _find(name)
