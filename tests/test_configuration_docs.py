"""``docs/configuration.md`` and ``memoryapp/conf.py`` say the same."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import AliasChoices, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from memoryapp.conf import Conf, ModelSettings, get_conf, unknown_variables
from tests.servers import hermetic_environment

DOCUMENT = Path(__file__).parent.parent / "docs" / "configuration.md"
ROW = re.compile(r"^\| `([A-Z_]+)` \| (.+?) \| (.+?) \| .*\|$", re.MULTILINE)


def variable(name: str, field: FieldInfo) -> str:
    if isinstance(field.validation_alias, AliasChoices):
        return str(field.validation_alias.choices[0])
    return f"STRATA_{name.upper()}"


def shown(default: object) -> str:
    if isinstance(default, SecretStr):
        default = default.get_secret_value()
    if default in ("", [], None):
        return "empty"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


@pytest.fixture
def _fresh_conf():
    get_conf.cache_clear()
    yield
    get_conf.cache_clear()


def test_every_setting_is_documented_once_with_its_default() -> None:
    documented = [(name, default) for name, default, _ in ROW.findall(DOCUMENT.read_text())]

    declared = [
        (variable(name, field), shown(field.get_default(call_default_factory=True)))
        for name, field in Conf.model_fields.items()
    ]

    assert sorted(documented) == sorted(declared)


def test_every_bound_is_documented() -> None:
    meanings = {name: meaning.replace(",", "") for name, _, meaning in ROW.findall(DOCUMENT.read_text())}

    for name, field in Conf.model_fields.items():
        bounds = {
            key: getattr(rule, key) for rule in field.metadata for key in ("ge", "le") if hasattr(rule, key)
        }
        if bounds:
            assert f"{bounds['ge']:g} to {bounds['le']:.15g}" in meanings[variable(name, field)], name


@pytest.mark.usefixtures("_fresh_conf")
def test_secret_may_be_a_file_and_the_environment_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRATA_SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("REDIS_URL", "redis://environment")
    (tmp_path / "secret_key").write_text("from a file\n")
    (tmp_path / "redis_url").write_text("redis://file")
    (tmp_path / "anthropic_api_key").write_text("")

    conf = get_conf()

    assert conf.secret_key.get_secret_value() == "from a file"
    assert conf.redis_url == "redis://environment"
    assert conf.anthropic_api_key.get_secret_value() == ""


@pytest.mark.usefixtures("_fresh_conf")
def test_missing_secrets_directory_is_no_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_SECRETS_DIR", str(tmp_path / "none"))

    assert get_conf().log_level == "INFO"


def test_hosts_are_split_at_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_ALLOWED_HOSTS", "a.example, b.example,")

    assert Conf().allowed_hosts == ["a.example", "b.example"]


def test_settings_of_one_model_override_those_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"window_tokens": 32_000, "compaction_trigger_share": 0.5}
    prices = {"usd_per_million_input": 2, "usd_per_million_output": 10}
    monkeypatch.setenv("STRATA_MODEL_SETTINGS", json.dumps({"small": own, "priced": prices}))
    monkeypatch.setenv("STRATA_COMPACTION_WAIT_SHARE", "0.8")

    conf = Conf()

    assert conf.for_model("small") == ModelSettings(32_000, None, 0.5, 0.8, None)
    assert conf.for_model("priced") == ModelSettings(None, None, 0.6, 0.8, (2.0, 10.0))
    assert conf.for_model("never heard of") == ModelSettings(None, None, 0.6, 0.8, None)


@pytest.mark.usefixtures("_fresh_conf")
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("sk-pasted", 'is not JSON; write it as {"<model>": {"window_tokens": 32000}}'),
        ("[1]", "Input should be a valid dictionary"),
        ('{"m": {"window": 9000}}', "m: window: Extra inputs are not permitted"),
        ('{"m": {"window_tokens": 9}}', "m: window_tokens: Input should be greater than or equal to 4000"),
        ('{"m": {"compaction_wait_share": 1}}', "m: compaction_wait_share: Input should be less than"),
        ('{"m": {"usd_per_million_input": 1}}', "give both prices or none"),
        (
            '{"m": {"compaction_trigger_share": 0.9}}',
            "m: compaction_trigger_share must be less than compaction_wait_share",
        ),
    ],
)
def test_wrong_settings_of_a_model_are_one_line_that_says_where(
    monkeypatch: pytest.MonkeyPatch, value: str, problem: str
) -> None:
    monkeypatch.setenv("STRATA_MODEL_SETTINGS", value)

    with pytest.raises(SystemExit) as refusal:
        get_conf()

    _, *problems = str(refusal.value).splitlines()
    assert len(problems) == 1
    assert problems[0].startswith("- STRATA_MODEL_SETTINGS: ")
    assert problem in problems[0]
    assert "sk-pasted" not in problems[0]


def test_turn_cannot_wait_before_the_trigger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_COMPACTION_TRIGGER_SHARE", "0.7")
    monkeypatch.setenv("STRATA_COMPACTION_WAIT_SHARE", "0.7")

    with pytest.raises(ValidationError, match="must be less than compaction_wait_share"):
        Conf()


def test_bad_value_is_named_but_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_TURN_THREADS", "sk-pasted-into-the-wrong-line")

    with pytest.raises(ValidationError) as refusal:
        Conf()

    assert "turn_threads" in str(refusal.value)
    assert "sk-pasted" not in str(refusal.value)


@pytest.mark.usefixtures("_fresh_conf")
def test_each_wrong_value_is_one_line_with_the_variable_and_what_it_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STRATA_TURN_THREADS", "0")
    monkeypatch.setenv("STRATA_WINDOW_TOKENS", "sk-pasted")
    monkeypatch.setenv("STRATA_EMBEDDER", "sk-pasted")

    with pytest.raises(SystemExit) as refusal:
        get_conf()

    first, *problems = str(refusal.value).splitlines()
    assert first == "Strata does not start with these settings:"
    assert sorted(problems) == [
        "- STRATA_EMBEDDER: Input should be 'bundled' or 'voyage'",
        "- STRATA_TURN_THREADS: Input should be greater than or equal to 1 (1 to 256)",
        (
            "- STRATA_WINDOW_TOKENS: Input should be a valid integer, unable to parse string as an integer "
            "(4,000 to 10,000,000)"
        ),
    ]


@pytest.mark.parametrize(
    "command",
    [
        ["manage.py", "sign_in_link"],
        ["-m", "celery", "--app", "memoryapp.celery", "worker"],
        ["-m", "uvicorn", "memoryapp.asgi:application", "--port", "1"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_every_program_ends_with_that_message_and_no_traceback(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *command],
        check=False,
        cwd=DOCUMENT.parent.parent,
        env=hermetic_environment() | {"STRATA_TURN_THREADS": "0"},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == [
        "- STRATA_TURN_THREADS: Input should be greater than or equal to 1 (1 to 256)"
    ]


def test_variables_that_nothing_reads_are_named_with_what_was_meant() -> None:
    names = [
        "STRATA_CHEEP_MODEL",
        "STRATA_XYZZY",
        "STRATA_CHAT_MODEL",
        "STRATA_SECRET_KEY",
        "STRATA_PORT",
        "PATH",
    ]

    assert list(unknown_variables(names)) == [
        "There is no setting STRATA_CHEEP_MODEL; it is ignored. Did you mean STRATA_CHEAP_MODEL?",
        "There is no setting STRATA_XYZZY; it is ignored.",
    ]
