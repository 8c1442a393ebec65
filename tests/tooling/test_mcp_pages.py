"""The switches of a chat: in its menu when there is something to switch, a page without scripts, a dialog with them."""

import pytest
from django.test import Client
from django.urls import reverse

from memoryapp.scratchpad.models import Grant
from memoryapp.tooling import operations
from memoryapp.tooling.mcp import tools_of
from tests.turns import start

MENU_ENTRY = "Tools from other servers"


def browser_of(user):
    browser = Client()
    browser.force_login(user)
    return browser


@pytest.fixture
def conversation(alice):
    return start(alice)


@pytest.fixture
def browser(alice):
    return browser_of(alice)


def page(conversation):
    return reverse("chat:tool_servers", args=[conversation.id])


def switch(conversation, server):
    return reverse("chat:switch_server", args=[conversation.id, server.id])


def test_the_menu_has_the_entry_while_there_is_an_enabled_server(browser, conversation, server):
    chat = reverse("chat:conversation", args=[conversation.id])

    with_one = browser.get(chat).content.decode()
    server.is_enabled = False
    operations.save_server(server, token=None)
    without = browser.get(chat).content.decode()

    assert page(conversation) in with_one
    assert MENU_ENTRY in with_one
    assert MENU_ENTRY not in without


def test_the_page_says_that_each_call_asks_and_shows_what_there_is_off(browser, conversation, server):
    html = browser.get(page(conversation)).content.decode()

    assert "asks you before each call" in html
    assert 'aria-checked="false"' in html
    assert server.host in html
    assert "Says it again." in html


def test_without_scripts_a_switch_leads_back_to_the_page(browser, alice, conversation, server):
    switched = browser.post(switch(conversation, server), {"is_on": "yes"})

    assert (switched.status_code, switched["Location"]) == (303, page(conversation))
    assert 'aria-checked="true"' in browser.get(page(conversation)).content.decode()
    assert tools_of(alice.id, conversation.id)

    browser.post(switch(conversation, server))
    assert tools_of(alice.id, conversation.id) == ()


def test_with_htmx_the_dialog_and_then_the_list_come_alone(browser, conversation, server):
    htmx = {"HX-Request": "true"}

    dialog = browser.get(page(conversation), headers=htmx).content.decode()
    switched = browser.post(switch(conversation, server), {"is_on": "yes"}, headers=htmx).content.decode()

    assert dialog.lstrip().startswith("<dialog")
    assert switched.lstrip().startswith('<div class="stack" id="servers">')
    assert 'aria-checked="true"' in switched
    assert "Switched on for this chat" in switched


def test_what_a_server_says_is_text(browser, conversation, server):
    server.tools = [{**server.tools[0], "description": "<img src=x onerror=alert(1)>"}]
    server.save()

    assert "&lt;img src=x onerror=alert(1)&gt;" in browser.get(page(conversation)).content.decode()


def test_it_lists_the_tools_that_need_not_ask_and_takes_that_back(browser, alice, conversation, server):
    Grant.objects.create(user=alice, conversation=conversation, action=f"mcp_{server.slug}_echo")

    html = browser.get(page(conversation)).content.decode()

    assert "Run in this chat without asking" in html
    assert reverse("chat:ask_again", args=[conversation.id]) in html
    assert 'name="action" value="mcp_tests_echo"' in html


def test_somebody_elses_chat_is_not_found(bob, conversation, server):
    browser = browser_of(bob)

    assert browser.get(page(conversation)).status_code == 404
    assert browser.post(switch(conversation, server), {"is_on": "yes"}).status_code == 404
    assert not server.uses.exists()
