"""``docs/configuration.md`` and ``memoryapp/conf.py`` say the same."""

import re
from pathlib import Path

import pytest
from pydantic import AliasChoices, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from memoryapp.conf import Conf, get_conf

DOCUMENT = Path(__file__).parent.parent / "docs" / "configuration.md"
ROW = re.compile(r"^\| `([A-Z_]+)` \| (.+?) \| (.+?) \| .*\|$", re.MULTILINE)


def variable(name: str, field: FieldInfo) -> str:
    if isinstance(field.validation_alias, AliasChoices):
        return str(field.validation_alias.choices[0])
    return f"STRATA_{name.upper()}"


def shown(default: object) -> str:
    if isinstance(default, SecretStr):
        default = default.get_secret_value()
    if default in ("", []):
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


def test_bad_value_is_named_but_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_TURN_THREADS", "sk-pasted-into-the-wrong-line")

    with pytest.raises(ValidationError) as refusal:
        Conf()

    assert "turn_threads" in str(refusal.value)
    assert "sk-pasted" not in str(refusal.value)
