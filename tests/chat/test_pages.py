"""The chat's pages as the server makes them: search, refusals, confirmations, what stands under a reply."""

import re
from types import SimpleNamespace

import pytest
from django.urls import reverse

from chat import pages
from chat.presentation import EFFECT_UNKNOWN
from chat.tool_use import UNKNOWN_EFFECT
from memoryapp.llm.base import Usage
from memoryapp.scratchpad.models import Step
from memoryapp.transcript import claims
from memoryapp.transcript.models import Turn
from tests.inspector.working import Working, kept_for
from tests.turns import claim, post, start
from tests.waits import waiting

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def finished(user, text="hello", conversation=None):
    turn = post(user, text, conversation)
    claims.finish_turn(claim(turn), reply="hi", model="m", usage=Usage())
    return turn


def page_of(client, turn):
    return client.get(reverse("chat:conversation", args=[turn.conversation_id])).content.decode()


@pytest.mark.parametrize("is_offline", [True, False])
def test_what_one_may_begin_with_is_in_english_for_the_responder_that_reads_nothing_else(
    client, alice, monkeypatch, is_offline
):
    monkeypatch.setattr(pages, "gettext", lambda text: f"DE {text}")
    name = "offline" if is_offline else "claude"
    monkeypatch.setattr(pages, "get_chat_model", lambda: SimpleNamespace(name=name))
    client.force_login(alice)

    html = client.get("/").content.decode()

    assert ("DE What do you know about me?" in html) is not is_offline
    assert "What do you know about me?" in html


def test_trying_again_what_another_tab_did_answers_with_the_turn_as_it_stands(client, alice):
    client.force_login(alice)
    turn = finished(alice)

    response = client.post(reverse("chat:retry", args=[turn.id]), headers=HTMX)

    html = response.content.decode()
    assert response.status_code == 409
    assert 'data-status="completed"' in html
    assert 'hx-target="#alert"' in html
    assert "This message has been answered already." in html


def test_a_search_finds_what_was_said_and_keeps_the_open_chat_open(client, alice, bob):
    client.force_login(alice)
    finished(alice, "I saw an aardvark", start(alice, title="Holiday"))
    finished(bob, "My aardvark sleeps")
    open_chat = start(alice, title="Open one")
    url = reverse("chat:conversation", args=[open_chat.id])

    html = client.get(url, {"q": "aardvark"}).content.decode()

    [listed] = [
        item
        for _, items in client.get(url, {"q": "aardvark"}).context["conversation_groups"]
        for item in items
    ]
    assert (listed.title, listed.snippet_html) == ("Holiday", "I saw an <mark>aardvark</mark>")
    assert f'action="{url}"' in html
    assert "sleeps" not in html
    assert "Open one</h1>" in html


def test_a_list_refreshed_during_a_search_still_answers_the_search(client, alice):
    client.force_login(alice)
    turn = finished(alice, "I saw an aardvark", start(alice, title="Holiday"))
    start(alice, title="Other")
    headers = {**HTMX, "HX-Current-URL": "http://testserver/?q=aardvark"}

    html = client.get(reverse("chat:turn", args=[turn.id]), headers=headers).content.decode()

    assert "Holiday" in html
    assert "Other" not in html


def test_renaming_and_deleting_say_that_they_are_done(client, alice):
    client.force_login(alice)
    chat = start(alice, title="Old")

    renamed = client.post(reverse("chat:rename", args=[chat.id]), {"title": "New"}, follow=True)
    deleted = client.post(reverse("chat:delete", args=[chat.id]), follow=True)

    assert "Renamed." in renamed.content.decode()
    assert "The chat is deleted." in deleted.content.decode()
    assert not Turn.objects.exists()


def chip_of(client, turn):
    return re.search(r'<a class="badge"(.*?)</a>', page_of(client, turn), re.DOTALL)[1]


@pytest.mark.usefixtures("nudges")
def test_a_call_that_something_overtook_is_not_said_to_have_failed(client, alice):
    client.force_login(alice)
    at_work = Working(alice)
    at_work.step(Step.Status.ERROR, error=f"The run ended meanwhile. {EFFECT_UNKNOWN}.")
    run = at_work.end()

    chip = chip_of(client, run.turn)

    assert "· not known" in chip
    assert "failed" not in chip


@pytest.mark.usefixtures("nudges")
@pytest.mark.parametrize(("days", "is_linked"), [(1, True), (0, False)])
def test_a_tool_leads_to_the_record_of_its_run_only_where_records_stay(client, alice, days, is_linked):
    client.force_login(alice)
    at_work = Working(alice)
    at_work.step()
    run = at_work.end()
    kept_for(days)

    assert (f'href="{at_work.page}"' in chip_of(client, run.turn)) is is_linked


def test_every_text_of_an_unknown_effect_is_recognised():
    assert EFFECT_UNKNOWN in UNKNOWN_EFFECT


@pytest.mark.usefixtures("nudges")
def test_without_scripts_a_message_and_each_refresh_lead_to_the_turn(client, alice):
    client.force_login(alice)

    turn = post(alice, "hello")
    chat = reverse("chat:conversation", args=[turn.conversation_id])
    first = client.get(chat).content.decode()
    second = client.get(f"{chat}?anew=yes").content.decode()
    sent = client.post(reverse("chat:send", args=[turn.conversation_id]), {"text": "again"})

    # Another address each time: to one that differs only in its fragment, browsers scroll.
    assert f'content="3; url={chat}?anew=yes#turn-{turn.id}"' in first
    assert f'content="3; url={chat}?#turn-{turn.id}"' in second
    assert sent["Location"] == f"{chat}#turn-{Turn.objects.filter(user=alice).latest('seq').id}"


@pytest.mark.usefixtures("nudges")
@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("approval", "Waits for your answer above"),
        ("stuck", "Waits for your answer above"),
        ("model", "Waits for the message above"),
        (None, "Waiting to start"),
    ],
)
def test_a_message_says_what_it_waits_behind(client, alice, reason, words):
    client.force_login(alice)
    above = waiting(alice, reason) if reason else post(alice, "hello")

    queued = post(alice, "and then?", above.conversation)

    alone = client.get(reverse("chat:turn", args=[queued.id]), headers=HTMX).content.decode()
    assert words in page_of(client, queued)
    assert words in alone
