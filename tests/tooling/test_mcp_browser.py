"""The switches in a real Chromium: a dialog that stays while servers are switched, for hands on the keyboard too."""

from types import SimpleNamespace
from uuid import UUID

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.ui.pages import CONVERSATION, chat_page, render
from tests.ui.stand_in import StandIn

pytestmark = pytest.mark.browser

SERVER_ID = UUID(int=7)
TOOLS = [{"name": "search", "description": "Looks it up."}]


def part(name, *, is_on):
    server = SimpleNamespace(id=SERVER_ID, name="GitHub", host="tools.example", tools=TOOLS, is_on=is_on)
    return render(f"chat/tool_servers.html#{name}", conversation=CONVERSATION, servers=[server])


def test_the_dialog_stays_open_and_the_switch_keeps_the_focus(chromium):
    switch_url = reverse("chat:switch_server", args=[CONVERSATION.id, SERVER_ID])
    with StandIn() as web:
        web.answers["/stand-in/chat"] = lambda _: (200, chat_page(has_tool_servers=True))
        web.answers[reverse("chat:tool_servers", args=[CONVERSATION.id])] = lambda _: (
            200,
            part("dialog", is_on=False),
        )
        web.answers[switch_url] = lambda form: (200, part("servers", is_on="is_on" in form))
        page = chromium.new_page()
        page.goto(f"{web.url}/stand-in/chat")
        menu = page.locator("summary", has_text="More about this chat")

        menu.click()
        page.get_by_role("link", name="Tools from other servers…").click()
        switch = page.get_by_role("switch", name="GitHub")
        switch.focus()
        page.keyboard.press("Space")

        expect(switch).to_be_checked()
        expect(switch).to_be_focused()
        page.keyboard.press("Space")
        expect(switch).not_to_be_checked()
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_have_count(0)
        expect(menu).to_be_focused()
        page.close()

    assert [(path, form.get("is_on")) for path, form in web.posts] == [
        (switch_url, "yes"),
        (switch_url, None),
    ]
