"""The conversation page where a chat has versions: actions, their places, stale tabs, the summary's marker."""

import re
from uuid import uuid4

import pytest
from django.urls import reverse

from chat import pages
from memoryapp.transcript import claims, queries
from memoryapp.transcript.models import Conversation, Summary, Turn
from tests.transcript.branching import edited, said, shown, summarised, talk
from tests.turns import claim, post

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def url(name, row):
    return reverse(f"chat:{name}", args=[row.id])


def act(browser, name, turn, *, htmx=False, **fields):
    return browser.post(url(name, turn), fields, headers=HTMX if htmx else {})


def page_of(browser, turn, query=""):
    return browser.get(reverse("chat:conversation", args=[turn.conversation_id]) + query)


def partial(html, name):
    """What htmx puts in the place of an element."""
    found = re.search(rf'<hx-partial hx-target="#{name}"[^>]*>(.*?)</hx-partial>', html, re.DOTALL)
    return found.group(1) if found else ""


def test_an_edit_without_scripts_leads_to_the_new_turn(browser, alice):
    _, second, _ = talk(alice, "one", "two", "three")
    form = browser.get(url("edit", second)).content.decode()

    response = act(browser, "edit", second, text="TWO", idempotency_key="k")

    assert ">two</textarea>" in form
    new = Turn.objects.get(is_current=True, seq=2)
    assert response.status_code == 303
    assert response["Location"].endswith(f"/c/{second.conversation_id}/#turn-{new.id}")
    assert shown(second) == ["one", "TWO"]


def test_an_edit_with_htmx_changes_the_chat_in_place(browser, alice):
    _, second, third = talk(alice, "one", "two", "three")
    form = browser.get(url("edit", second), headers=HTMX).content.decode()

    response = act(browser, "edit", second, htmx=True, text="TWO", idempotency_key="k")

    html = response.content.decode()
    new = Turn.objects.get(is_current=True, seq=2)
    assert "<html" not in form
    assert "data-edit" in form
    assert f'id="turn-{new.id}"' in html
    assert "hx-sse:connect" in html
    assert f'id="turn-{third.id}"' not in html
    assert f'value="{new.id}"' in partial(html, "composer-after")
    assert response["HX-Replace-Url"] == f"/c/{second.conversation_id}/"


@pytest.mark.parametrize("htmx", [False, True])
def test_a_refused_edit_keeps_the_text(browser, alice, htmx):
    (turn,) = talk(alice, "one")

    response = act(browser, "edit", turn, htmx=htmx, text="x" * 100_001)

    html = response.content.decode()
    assert response.status_code == 422
    assert "The message is" in html
    assert ("x" * 100_001 in html) is not htmx  # with htmx the form stays, and only the reason comes
    assert shown(turn) == ["one"]


@pytest.mark.parametrize("htmx", [False, True])
def test_an_edit_during_a_reply_is_refused_with_the_reason(browser, alice, htmx):
    (turn,) = talk(alice, "one")
    post(alice, "two", turn.conversation)

    response = act(browser, "edit", turn, htmx=htmx, text="ONE")

    assert response.status_code == 409
    assert "Wait until the reply is finished" in response.content.decode()


def test_a_message_too_large_for_the_model_is_not_sent_and_stays(browser, alice, configure):
    configure(STRATA_WINDOW_TOKENS="16000", STRATA_MAX_OUTPUT_TOKENS="2000")
    (turn,) = talk(alice, "one")
    text = "word " * 19_000

    sent = browser.post(reverse("chat:send", args=[turn.conversation_id]), {"text": text})
    new = browser.post(reverse("chat:start"), {"text": text})
    again = act(browser, "edit", turn, text=text)

    for response in (sent, new, again):
        assert response.status_code in {413, 422}
        assert "tokens long" in response.content.decode()
        assert "word word word" in response.content.decode()
    assert Turn.objects.count() == 1


def test_another_answer_is_asked_for_once_by_a_double_click(browser, alice):
    (turn,) = talk(alice, "one")
    key = re.search(r'name="idempotency_key" value="([^"]+)"', page_of(browser, turn).content.decode())[1]

    for _ in range(2):
        response = act(browser, "again", turn, idempotency_key=key)

    assert response.status_code == 303
    assert Turn.objects.count() == 2
    assert shown(turn) == ["one"]


def test_versions_are_named_and_lead_to_each_other(browser, alice):
    (turn,) = talk(alice, "one")
    version = edited(turn, "ONE")

    before = page_of(browser, turn).content.decode()
    response = act(browser, "show", turn, htmx=True)

    assert 'aria-label="Version 2 of 2 of this message"' in before
    assert f'formaction="{url("show", turn)}"' in before
    assert 'aria-label="Version 1 of 2 of this message"' in response.content.decode()
    assert partial(response.content.decode(), "status") == "Another version is shown"
    assert f'formaction="{url("show", version)}"' in response.content.decode()
    assert shown(turn) == ["one"]


def test_a_turn_whose_reply_has_ended_still_knows_its_versions(browser, alice):
    (turn,) = talk(alice, "one")
    version = edited(turn, "ONE")

    html = browser.get(url("turn", version), headers=HTMX).content.decode()

    assert "2/2" in html


def test_what_was_removed_is_said_at_the_end_and_comes_back(browser, alice):
    _, second, _ = talk(alice, "one", "two", "three")

    removed = act(browser, "remove", second)
    html = page_of(browser, second).content.decode()
    act(browser, "remove", second)  # a double click
    back = act(browser, "show", second)

    assert removed["Location"].endswith("#removed")
    assert "2 messages were removed" in html
    assert f'action="{url("show", second)}"' in html
    assert back["Location"].endswith(f"#turn-{second.id}")
    assert "removed" not in re.sub(r'id="removed"', "", page_of(browser, second).content.decode())


def test_after_the_next_message_the_removed_ones_are_no_longer_offered(browser, alice):
    first, second = talk(alice, "one", "two")
    act(browser, "remove", second)

    response = browser.post(
        reverse("chat:send", args=[first.conversation_id]), {"text": "zwei", "after": first.id}, headers=HTMX
    )

    assert "Bring back" not in partial(response.content.decode(), "removed")
    assert 'id="removed"' in partial(response.content.decode(), "removed")


def test_a_copy_is_a_chat_of_its_own(browser, alice):
    _, second, _ = talk(alice, "one", "two", "three")

    for _ in range(2):
        response = act(browser, "fork", second, idempotency_key="k")

    copy = Conversation.objects.get(forked_from=second.conversation)
    html = browser.get(response["Location"]).content.decode()
    assert response["Location"].startswith(f"/c/{copy.id}/#turn-")
    assert "This is a copy" in html
    assert "three" not in html.split('id="turns"')[1]


@pytest.mark.parametrize("name", ["again", "show", "remove", "fork"])
def test_during_a_reply_htmx_is_told_why_nothing_happens(browser, alice, name):
    (turn,) = talk(alice, "one")
    live = post(alice, "two", turn.conversation)

    response = act(browser, name, live if name == "fork" else turn, htmx=True)

    assert response.status_code == 409
    assert "Wait until the reply is finished" in response.content.decode()
    assert shown(turn) == ["one", "two"]


def test_a_live_turn_offers_no_changes(browser, alice):
    turn = post(alice, "one")

    html = page_of(browser, turn).content.decode()

    assert url("edit", turn) not in html
    assert url("again", turn) not in html


def test_only_the_last_of_the_failed_turns_is_tried_again_others_are_answered_again(browser, alice):
    failed = post(alice, "one")
    claims.fail_turn(claim(failed), status=Turn.Status.FAILED, partial_text="")
    before = page_of(browser, failed).content.decode()
    said(alice, "two", failed.conversation)

    after = page_of(browser, failed).content.decode()

    assert url("retry", failed) in before
    assert url("retry", failed) not in after
    assert f'hx-post="{url("again", failed)}"' in after


@pytest.mark.parametrize("htmx", [False, True])
def test_a_message_from_a_stale_tab_is_held_back_until_its_writer_has_seen(browser, alice, htmx):
    first, _, _ = talk(alice, "one", "two", "three")
    send = reverse("chat:send", args=[first.conversation_id])
    fields = {"text": "written below one", "after": first.id, "idempotency_key": "k"}

    stale = browser.post(send, fields, headers=HTMX if htmx else {})
    before = Turn.objects.count()
    anyway = browser.post(send, {**fields, "anyway": "yes"}, headers=HTMX if htmx else {})

    html = stale.content.decode()
    assert stale.status_code == 409
    assert "This chat moved on (2 newer messages)" in html
    assert 'name="anyway"' in html
    assert ("written below one" in html) is not htmx
    assert before == 3
    assert anyway.status_code == (200 if htmx else 303)
    assert shown(first)[-1] == "written below one"


def test_a_tab_that_shows_another_version_is_stale_too(browser, alice):
    _, second = talk(alice, "one", "two")
    edited(second, "TWO")

    response = browser.post(
        reverse("chat:send", args=[second.conversation_id]), {"text": "x", "after": second.id}, headers=HTMX
    )

    assert response.status_code == 409
    assert "This chat moved on" in response.content.decode()
    assert "Show the chat as it is" in response.content.decode()


def test_the_message_box_names_the_turn_it_stands_below(browser, alice):
    first, second = talk(alice, "one", "two")

    html = page_of(browser, first).content.decode()
    answer = browser.post(
        reverse("chat:send", args=[first.conversation_id]), {"text": "3", "after": second.id}, headers=HTMX
    )

    assert f'name="after" value="{second.id}"' in html
    third = Turn.objects.get(seq=3)
    assert f'value="{third.id}"' in partial(answer.content.decode(), "composer")


def test_a_double_click_from_a_tab_that_was_up_to_date_is_one_message(browser, alice):
    (first,) = talk(alice, "one")
    send = reverse("chat:send", args=[first.conversation_id])

    for _ in range(2):
        response = browser.post(
            send, {"text": "two", "after": first.id, "idempotency_key": "k"}, headers=HTMX
        )

    assert response.status_code == 200
    assert shown(first) == ["one", "two"]


def test_the_marker_stands_above_the_first_turn_that_is_not_summarised(browser, alice):
    first, second, third = talk(alice, "one", "two", "three")
    summary = summarised(second)

    html = page_of(browser, first).content.decode()

    assert "Messages 1–2" in html
    assert html.index(f'id="turn-{second.id}"') < html.index("summarised for the model")
    assert html.index("summarised for the model") < html.index(f'id="turn-{third.id}"')
    page = reverse("inspector:summary", args=[first.conversation_id, summary.version])
    assert f'href="{page}"' in html
    assert f'href="{page}#left-out"' in html
    assert browser.get(page).status_code == 200
    assert "made without the model" not in html


def test_the_marker_stands_below_everything_when_everything_is_summarised(browser, alice):
    first, second = talk(alice, "one", "two")
    summarised(second)

    html = page_of(browser, first).content.decode()

    assert html.index(f'id="turn-{second.id}"') < html.index("summarised for the model")


def test_the_marker_says_softly_that_the_model_did_not_make_it(browser, alice):
    first, _ = talk(alice, "one", "two")
    summary = summarised(first)
    Summary.objects.filter(id=summary.id).update(
        method=Summary.Method.EXTRACTIVE, fallback_reason="model_overloaded"
    )

    html = page_of(browser, first).content.decode()

    assert "made without the model: the provider was overloaded" in html
    assert "Message 1 is summarised" in re.sub(r"\s+", " ", html)


@pytest.mark.parametrize(
    ("query", "expected"),
    [("", ["marker", "5", "6"]), ("?before=5", ["3", "marker", "4"]), ("?before=3", ["1", "2", "marker"])],
)
def test_each_page_shows_where_it_stands_to_the_summary(browser, alice, monkeypatch, query, expected):
    monkeypatch.setattr(pages, "SHOWN", 2)
    turns = talk(alice, *"123456")
    summarised(turns[2])

    html = page_of(browser, turns[0], query).content.decode()

    found = re.findall(r'class="(marker)"|user-text"\s+id="turn-[^"]+-text"[^>]*>(\d)<', html)
    assert [marker or text for marker, text in found] == expected


def test_a_branch_far_up_is_shown_on_the_page_of_its_turn(browser, alice, monkeypatch):
    monkeypatch.setattr(pages, "SHOWN", 2)
    turns = talk(alice, *"123456")
    edited(turns[1], "zwei")

    response = act(browser, "show", turns[1])
    html = browser.get(response["Location"]).content.decode()
    in_place = act(browser, "show", turns[1], htmx=True)

    assert response["Location"].endswith(f"?before=3#turn-{turns[1].id}")
    assert f'id="turn-{turns[1].id}"' in html
    assert "Back to the newest messages" in html
    assert f'id="turn-{turns[1].id}"' in in_place.content.decode()
    assert in_place["HX-Replace-Url"].endswith("?before=3")
    assert "Back to the newest messages" in partial(in_place.content.decode(), "newest")


def test_a_link_to_a_turn_leads_to_the_page_it_stands_on(browser, alice, monkeypatch):
    monkeypatch.setattr(pages, "SHOWN", 2)
    turns = talk(alice, *"12345")

    near, far = (browser.get(url("turn", turn))["Location"] for turn in (turns[-1], turns[0]))

    assert near == f"/c/{turns[0].conversation_id}/#turn-{turns[-1].id}"
    assert far == f"/c/{turns[0].conversation_id}/?before=2#turn-{turns[0].id}"


def test_a_page_of_turns_takes_the_same_number_of_queries_however_many(
    browser, alice, django_assert_max_num_queries
):
    few = talk(alice, *"12")
    edited(few[1], "x")
    many = talk(alice, *"123456789")
    edited(many[8], "x")
    page_of(browser, few[0])

    with django_assert_max_num_queries(52) as counted:
        page_of(browser, few[0])
        after_few = len(counted)
        page_of(browser, many[0])

    assert len(counted) - after_few <= after_few


def test_bob_does_nothing_with_turns_of_alice(client, alice, bob):
    first, second = talk(alice, "one", "two")
    client.force_login(bob)

    for name in ("edit", "again", "show", "remove", "fork", "keep"):
        assert act(client, name, second, text="two", idempotency_key=str(uuid4())).status_code == 404
        assert client.get(url(name, second)).status_code in {302, 404, 405}

    assert shown(first) == ["one", "two"]
    assert not queries.conversations(bob.id).exists()
