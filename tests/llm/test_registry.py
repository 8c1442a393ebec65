from collections.abc import Iterator

import pytest

from memoryapp.conf import get_conf
from memoryapp.llm.claude import ClaudeModel
from memoryapp.llm.offline import OfflineModel
from memoryapp.llm.registry import get_chat_model, reset_chat_model


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    get_conf.cache_clear()
    reset_chat_model()
    yield
    monkeypatch.undo()
    get_conf.cache_clear()
    reset_chat_model()


def test_without_key_and_address_the_offline_model_answers() -> None:
    assert isinstance(get_chat_model(), OfflineModel)


@pytest.mark.parametrize(
    ("name", "value"), [("ANTHROPIC_API_KEY", "sk-test"), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")]
)
def test_key_or_address_alone_connects_claude(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)

    assert isinstance(get_chat_model(), ClaudeModel)
    assert get_chat_model() is get_chat_model()
