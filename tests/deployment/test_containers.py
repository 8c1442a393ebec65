"""The compose file and the image hold what docs/deployment.md promises of them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from memoryapp.conf import Conf
from tests.deployment.containers import COMPOSE, DOCKERFILE, PROJECT, SERVICES, STATE

SCHEMA = Path(__file__).parent / "compose-spec" / "compose-spec.json"
LONG_RUNNING = sorted(set(SERVICES) - {"migrate"})
OURS = sorted(set(SERVICES) - STATE)


def test_compose_file_follows_the_compose_specification() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))

    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(COMPOSE)] == []


def test_compose_lint_has_nothing_to_say_but_that_tags_are_not_digests() -> None:
    linted = subprocess.run(
        [sys.executable, "-m", "compose_lint", "check", "--format", "json", "docker-compose.yml"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    # An operator pins the digests of the day (docs/deployment.md); a file that is shipped would pin old ones.
    assert set(re.findall(r"CL-\d+", linted.stdout)) == {"CL-0019"}, linted.stdout + linted.stderr


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_service_is_confined(name: str) -> None:
    service = SERVICES[name]

    uid, gid = service["user"].split(":")
    assert int(uid) > 0
    assert int(gid) > 0
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all("noexec" in mount and "size=" in mount for mount in service["tmpfs"])
    assert service["pids_limit"]
    assert service["mem_limit"]
    assert service["cpus"]
    assert service["logging"]["options"]["max-size"]
    assert not any(word in service for word in ("privileged", "network_mode", "pid", "devices"))


@pytest.mark.parametrize("name", LONG_RUNNING)
def test_long_running_service_is_watched_and_restarted(name: str) -> None:
    assert SERVICES[name]["restart"] == "unless-stopped"
    assert SERVICES[name]["healthcheck"]["test"]


def test_servers_of_state_are_reachable_only_from_inside() -> None:
    assert COMPOSE["networks"]["state"]["internal"] is True
    for name in STATE:
        assert SERVICES[name]["networks"] == ["state"]
        assert "ports" not in SERVICES[name]
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_application_starts_after_its_migrations_and_servers() -> None:
    for name in set(OURS) - {"migrate"}:
        assert SERVICES[name]["depends_on"] == {
            "migrate": {"condition": "service_completed_successfully"},
            "postgres": {"condition": "service_healthy"},
            "redis": {"condition": "service_healthy"},
        }


def test_no_secret_is_written_in_the_file_or_passed_by_the_environment() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            is_secret = re.search(r"KEY|PASSWORD|SECRET|TOKEN|DATABASE_URL|REDIS_URL", name)
            assert not is_secret or (name.endswith("_FILE") and value.startswith("/run/secrets/"))


def test_every_secret_is_used_is_a_setting_of_ours_or_of_the_servers_and_is_explained() -> None:
    declared = set(COMPOSE["secrets"])
    guide = (PROJECT / "docs" / "deployment.md").read_text()

    assert {secret for service in SERVICES.values() for secret in service["secrets"]} == declared
    assert set(SERVICES["web"]["secrets"]) <= set(Conf.model_fields)
    assert all(f"secrets/{secret}" in guide for secret in declared)


def test_worker_queues_cover_every_queue() -> None:
    from memoryapp.celery import app

    consumed = {
        part.removeprefix("--queues=")
        for service in SERVICES.values()
        for part in service["command"]
        if part.startswith("--queues=")
    }

    assert consumed == {
        app.conf.task_default_queue,
        *(route["queue"] for route in app.conf.task_routes.values()),
    }


def test_image_runs_as_nobody_in_particular_with_production_settings() -> None:
    final = DOCKERFILE.rpartition("\nFROM ")[2]

    assert re.findall(r"^USER (.+)$", final, re.MULTILINE) == [SERVICES["web"]["user"]] == ["10001:10001"]
    assert "DJANGO_SETTINGS_MODULE=memoryapp.settings.production" in final
    assert "--require-hashes" in DOCKERFILE
    assert not re.search(r"\bADD\b|\bcurl\b|\bwget\b|requirements-dev", DOCKERFILE)


def test_image_and_compose_start_the_web_server_alike() -> None:
    (line,) = re.findall(r"^CMD (\[.+\])$", DOCKERFILE, re.MULTILINE)

    assert " ".join(json.loads(line)) == " ".join(SERVICES["web"]["command"]).replace("=", " ")


def test_builder_gets_no_state_no_secret_and_no_test() -> None:
    allowed = (PROJECT / ".dockerignore").read_text().split("\n")

    assert allowed[1] == "*"
    assert {line for line in allowed if line.startswith("!")} == {
        "!chat",
        "!memoryapp",
        "!static",
        "!templates",
        "!manage.py",
        "!requirements.txt",
    }


def test_proxy_example_in_the_guide_does_not_buffer_streams() -> None:
    guide = (PROJECT / "docs" / "deployment.md").read_text()

    for line in ("proxy_buffering off;", "proxy_http_version 1.1;", "proxy_set_header X-Forwarded-Proto"):
        assert line in guide


def test_guide_names_every_variable_that_only_the_containers_use() -> None:
    text = (PROJECT / "docker-compose.yml").read_text()
    guide = (PROJECT / "docs" / "deployment.md").read_text()

    for name in set(re.findall(r"\$\{(\w+)", text)):
        assert f"`{name}`" in guide
