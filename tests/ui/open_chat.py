"""The chat open in a real Chromium, under the real content policy, before a server that answers as a test wants."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from tests.ui.pages import (
    CONVERSATION,
    TURN_ID,
    chat_page,
    composer_html,
    learned,
    live_turn_view,
    turn_html,
    turn_view,
)
from tests.ui.stand_in import StandIn

CHAT = "/stand-in/chat"
SEND = reverse("chat:send", args=[CONVERSATION.id])
TURN = reverse("chat:turn", args=[TURN_ID])
STOP = reverse("chat:stop", args=[TURN_ID])
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));
window.announced = [];
document.addEventListener("DOMContentLoaded", () => {
  const status = document.getElementById("status");
  new MutationObserver(() => announced.push(status.textContent)).observe(status, { childList: true });
});
"""


@pytest.fixture
def page(chromium):
    context = chromium.new_context(viewport={"width": 1280, "height": 700})
    page = context.new_page()
    page.add_init_script(WATCH)
    errors = []
    page.on("console", lambda message: errors.append(message.text) if _is_defect(message) else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    violations = page.evaluate("violations")
    context.close()
    assert violations == []
    assert errors == []


def _is_defect(message):
    """What the content policy refused; a refused or lost request is what some tests are about."""
    return message.type == "error" and "Content Security Policy" in message.text


@pytest.fixture
def server():
    with StandIn() as stand_in:
        stand_in.answers[SEND] = lambda form: (200, sent(form["text"]))
        stand_in.answers[TURN] = lambda _: (200, turn_html(turn_view(learned=[learned()])))
        stand_in.answers[STOP] = lambda _: (204, "")
        yield stand_in


def sent(text):
    fresh = composer_html(idempotency_key="key-3")
    partial = f'<hx-partial hx-target="#composer" hx-swap="outerHTML">{fresh}</hx-partial>'
    return turn_html(live_turn_view(user_text=text)) + partial


def frame(place, html, *, swap="innerHTML"):
    return f'<hx-partial hx-target="#turn-{TURN_ID}-{place}" hx-swap="{swap}">{html}</hx-partial>'


def open_chat(page: Page, server: StandIn, *turns):
    html = chat_page(turns=turns)
    server.answers[CHAT] = lambda _: (200, html)
    page.goto(server.url + CHAT)
    return page.locator("#composer-text")


def paragraphs(count):
    return "".join(f"<p>Paragraph {n}</p>" for n in range(count))
