"""Which model answers in this process."""

from dataclasses import replace
from functools import lru_cache

from memoryapp.conf import get_conf
from memoryapp.llm.base import ChatModel, ModelLimits
from memoryapp.llm.claude import ClaudeModel
from memoryapp.llm.configured import configured
from memoryapp.llm.offline import OfflineModel


@lru_cache(maxsize=1)
def get_chat_model() -> ChatModel:
    """The process's one model: Claude when there is a key or a base URL, else the offline responder."""
    conf = get_conf()
    if conf.anthropic_api_key.get_secret_value() or conf.anthropic_base_url:
        return ClaudeModel(conf, configured=configured)
    return OfflineModel()


def chat_limits() -> ModelLimits:
    """What the model of the chat can take, with the longest reply that configuration allows."""
    conf = configured()
    limits = get_chat_model().limits(conf.chat_model)
    return replace(limits, max_output_tokens=min(conf.max_output_tokens, limits.max_output_tokens))


def reset_chat_model() -> None:
    """Choose anew at the next call, for tests that change the configuration."""
    get_chat_model.cache_clear()
