"""The container files as data, and the image they describe, made by hand: tests have no container engine."""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).parent.parent.parent
COMPOSE = yaml.safe_load((PROJECT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (PROJECT / "Dockerfile").read_text()
STATE = {"postgres", "redis"}

_VARIABLE = re.compile(r"\$\{\w+:-([^}]*)\}")


def argv(service: str, **replaced: str) -> list[str]:
    """The service's command as the container would get it, the named options replaced by a test's own."""
    parts = [_VARIABLE.sub(r"\1", part) for part in SERVICES[service]["command"]]
    options = {f"--{name}": value for name, value in replaced.items()}
    assert set(options) <= {part.partition("=")[0] for part in parts}
    return [
        f"{name}={options[name]}" if (name := part.partition("=")[0]) in options else part for part in parts
    ]


def health_check(service: str) -> list[str]:
    """The service's health check as a command to run."""
    kind, *words = (word.replace("$$", "$") for word in SERVICES[service]["healthcheck"]["test"])
    return ["sh", "-c", *words] if kind == "CMD-SHELL" else words


def build_image(directory: Path, environment: Mapping[str, str]) -> None:
    """Copy what .dockerignore lets through and run the Dockerfile's own command over it."""
    for name in re.findall(r"^!(.+)$", (PROJECT / ".dockerignore").read_text(), re.MULTILINE):
        source = PROJECT / name
        if source.is_dir():
            shutil.copytree(source, directory / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        elif source.exists():
            shutil.copy(source, directory / name)
    (command,) = (run for run in _runs() if "collectstatic" in run)
    subprocess.run(
        ["sh", "-c", command],
        cwd=directory,
        env=dict(environment),
        check=True,
        capture_output=True,
        timeout=120,
    )


def with_our_programs(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with this virtual environment's programs found first, as in the image."""
    return {**environment, "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}"}


def _runs() -> list[str]:
    return re.findall(r"^RUN (.+)$", DOCKERFILE.replace("\\\n", " "), re.MULTILINE)
