"""The processes of docker-compose.yml, run by hand as in the containers: commands, secrets, health checks."""

import http.client
import json
import re
import secrets
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memoryapp.embedded import processes
from tests.deployment.containers import argv, build_image, health_check, with_our_programs
from tests.servers import hermetic_environment, throw_away_servers

pytestmark = pytest.mark.stack

HOST = "strata.example"
START_S = 60


@dataclass
class Stack:
    """Where the processes run, as the image and compose would have it."""

    image: Path
    environment: dict[str, str]
    port: int
    shipped: set[Path]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str, command: list[str], **changed: str) -> subprocess.Popen[bytes]:
        with (self.image.parent / f"{name}.log").open("wb") as log:
            process = processes.spawn(
                command,
                dies_by=signal.SIGTERM,
                output=log,
                environment={**self.environment, **changed},
                directory=self.image,
            )
        self.running.append(process)
        return process

    def run(self, command: list[str], **changed: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.image,
            env={**self.environment, **changed},
            capture_output=True,
            text=True,
            check=False,
            timeout=START_S,
        )

    def is_healthy(self, service: str, *, replace: tuple[str, str] = ("", "")) -> bool:
        return self.run([word.replace(*replace) for word in health_check(service)]).returncode == 0

    def log(self, name: str) -> str:
        return (self.image.parent / f"{name}.log").read_text()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def body(self) -> str:
        return self.content.decode()


def get(port: int, path: str, **headers: str) -> Answer:
    """What the server says to the proxy of docs/deployment.md."""
    sent = {"Host": HOST, "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7", **headers}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_S)
    try:
        connection.request("GET", path, headers=sent)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Everything but the servers' containers, migrated and answering."""
    home = tmp_path_factory.mktemp("production")
    image, mounted = home / "app", home / "secrets"
    image.mkdir()
    mounted.mkdir()
    environment = with_our_programs(
        {
            **hermetic_environment(),
            "DJANGO_SETTINGS_MODULE": "memoryapp.settings.production",
            "HOSTNAME": socket.gethostname(),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
            "STRATA_BASE_URL": f"https://{HOST}",
            "STRATA_IS_BEHIND_PROXY": "true",
            "STRATA_SECRETS_DIR": str(mounted),
        }
    )
    build_image(image, environment)
    with throw_away_servers() as servers:
        (mounted / "secret_key").write_text(secrets.token_urlsafe(60))
        (mounted / "database_url").write_text(servers.database_url)
        (mounted / "redis_url").write_text(servers.redis_url)
        (mounted / "anthropic_api_key").touch()
        stack = Stack(image, environment, free_port(), shipped=set(image.rglob("*")))
        try:
            migrated = stack.run(argv("migrate"))
            assert migrated.returncode == 0, migrated.stderr
            web = stack.start("web", argv("web", host="127.0.0.1", port=str(stack.port)))
            stack.start("worker-turns", argv("worker-turns", concurrency="2"))
            stack.start("worker-memory", argv("worker-memory"))
            stack.start("beat", argv("beat", schedule=str(home / "beat")))
            is_up = processes.wait_until(lambda: answers(stack.port), process=web, timeout_s=START_S)
            assert is_up, stack.log("web")
            yield stack
        finally:
            for process in reversed(stack.running):
                processes.stop(process, signal.SIGTERM, timeout_s=20)


def answers(port: int, host: str = HOST) -> bool:
    try:
        return get(port, "/healthz", Host=host).status == 200
    except OSError:
        return False


def test_web_is_ready_with_each_dependency(stack: Stack) -> None:
    ready = get(stack.port, "/readyz")

    assert ready.status == 200
    assert json.loads(ready.body)["dependencies"] == {"postgres": "ok", "redis": "ok"}


def test_health_checks_of_the_compose_file_hold(stack: Stack) -> None:
    for service in ("worker-turns", "worker-memory"):
        worker = stack.running[1]
        is_well = processes.wait_until(
            lambda service=service: stack.is_healthy(service), process=worker, timeout_s=START_S
        )
        assert is_well, stack.log(service)
    assert stack.is_healthy("web", replace=("8000", str(stack.port)))
    assert stack.is_healthy("beat", replace=("/tmp", str(stack.image.parent)))


def test_health_check_fails_when_nothing_listens(stack: Stack) -> None:
    assert not stack.is_healthy("web", replace=("8000", str(free_port())))
    assert not stack.is_healthy("beat", replace=("/tmp", str(stack.image)))


def test_health_is_answered_over_plain_http_and_pages_are_not(stack: Stack) -> None:
    plain = {"X-Forwarded-Proto": "http"}

    page = get(stack.port, "/accounts/login/", **plain)

    assert (page.status, page.headers["Location"]) == (301, f"https://{HOST}/accounts/login/")
    assert get(stack.port, "/healthz", **plain).status == 200
    assert get(stack.port, "/readyz", **plain).status == 200


def test_another_host_is_refused(stack: Stack) -> None:
    assert get(stack.port, "/accounts/login/", Host="evil.example").status == 400


def test_sign_in_page_carries_the_security_headers(stack: Stack) -> None:
    page = get(stack.port, "/accounts/login/")

    assert page.status == 200
    assert page.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["X-Frame-Options"] == "DENY"
    assert page.headers["Referrer-Policy"] == "same-origin"
    assert page.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert page.headers["Server"] is None
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert not re.search(r"unsafe|\*|https?:", policy)
    cookie = page.headers["Set-Cookie"]
    assert cookie.startswith("__Host-csrf=")
    assert all(flag in cookie for flag in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/"))


def test_page_names_static_files_by_their_hash_and_they_are_kept_for_ever(stack: Stack) -> None:
    page = get(stack.port, "/accounts/login/")

    names = set(re.findall(r'(?:href|src)="(/static/[^"#]+\.(?:css|js))"', page.body))

    assert names
    for name in names:
        assert re.search(r"\.[0-9a-f]{12}\.\w+$", name)
        served = get(stack.port, name, **{"Accept-Encoding": "gzip"})
        assert served.status == 200
        assert served.headers["Content-Encoding"] == "gzip"
        assert "immutable" in served.headers["Cache-Control"]


def test_first_account_is_made_in_the_web_container(stack: Stack) -> None:
    made = stack.run(
        [
            "python",
            "manage.py",
            "createsuperuser",
            "--noinput",
            "--username=owner",
            "--email=owner@example.com",
        ],
        DJANGO_SUPERUSER_PASSWORD=secrets.token_urlsafe(),
    )

    assert made.returncode == 0, made.stderr
    # Whoever comes later may not make the next one: sign-up closes with the first account.
    assert 'name="password1"' not in get(stack.port, "/accounts/signup/").body


def test_nothing_is_written_where_the_image_is_read_only(stack: Stack) -> None:
    assert set(stack.image.rglob("*")) == stack.shipped


def test_nothing_failed_and_nothing_secret_was_logged(stack: Stack) -> None:
    logs = "".join(log.read_text() for log in stack.image.parent.glob("*.log"))

    assert "Traceback" not in logs
    assert (stack.image.parent / "secrets" / "secret_key").read_text() not in logs


def test_plain_http_works_on_this_machine(stack: Stack) -> None:
    port = free_port()
    web = stack.start(
        "loopback",
        argv("web", host="127.0.0.1", port=str(port)),
        STRATA_BASE_URL=f"http://localhost:{port}",
        STRATA_IS_BEHIND_PROXY="false",
    )
    here = {"Host": f"localhost:{port}"}

    assert processes.wait_until(lambda: answers(port, here["Host"]), process=web, timeout_s=START_S), (
        stack.log("loopback")
    )
    page = get(port, "/accounts/login/", **here)

    assert page.status == 200
    assert page.headers["Strict-Transport-Security"] is None
    assert "Secure" not in page.headers["Set-Cookie"]
