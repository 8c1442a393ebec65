"""Lists of chats, as their tests make, read and change them."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.urls import reverse

from memoryapp.transcript.models import Conversation
from tests.turns import NOW, start

LIST = "/conversations/"


@pytest.fixture
def chats(alice):
    """Five, the last one the newest."""
    return [chat(alice, f"Chat {number}", age=5 - number) for number in range(5)]


def chat(user, title, *, age=0, **options) -> Conversation:
    made = start(user, title=title, **options)
    Conversation.objects.filter(id=made.id).update(updated_at=NOW - timedelta(days=age))
    return made


def listed(browser, **query) -> list[str]:
    return [row.title for row in browser.get(LIST, query).context["chats"]]


def shown(browser, **query) -> str:
    return " ".join(unescape(browser.get(LIST, query).content.decode()).split())


def act(browser, name, *chosen, **fields):
    return browser.post(reverse(f"chat:{name}"), {"id": [str(each.id) for each in chosen], **fields})


def undo(browser, html: str):
    """Send the form that the notice holds."""
    form = re.search(r'<form class="undo__form[^>]*action="([^"]+)".*?</form>', html, re.DOTALL)
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[0]):
        fields.setdefault(name, []).append(value)
    return browser.post(form[1], fields)


def now_of(each: Conversation) -> Conversation:
    return Conversation.objects.get(id=each.id)
