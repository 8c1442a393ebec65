"""What compaction did is on a page of its own: to read, compare, correct and make anew."""

import pytest
from django.urls import reverse

from memoryapp.inspector.conversations.summary_text import sections
from memoryapp.nudges import SUMMARISE_AGAIN, SUMMARISE_NOW
from memoryapp.transcript import branches, queries, summaries
from memoryapp.transcript.models import Summary
from tests.inspector.reading import words_of
from tests.inspector.summarising import ALLERGY, FIRST, SECOND, page_of, summarise, turn_of
from tests.talking import say
from tests.turns import start


def test_a_version_says_what_it_covers_how_it_was_made_and_what_it_cost(browser, second):
    words = words_of(browser.get(page_of(second)))

    assert "Messages 1–3" in words
    assert "Version 2" in words
    assert "In use" in words
    assert "By claude-haiku-5-5" in words
    assert "After a reply, in the background" in words
    assert f"400 →tokens became {second.tokens_after} tokens" in words
    assert "1,200 tokens in, 300 out —" in words


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"method": "extractive", "model": ""}, "Without a model: the beginning of each message"),
        (
            {"method": "extractive", "model": "", "fallback_reason": "invented"},
            "Without the model: it stated a number, a name or a quotation that was never said",
        ),
        (
            {"method": "extractive", "model": "", "fallback_reason": "unheard_of"},
            "Without the model: it failed",
        ),
        ({"trigger": "before_turn"}, "Before a reply, because the prompt was nearly full"),
        ({"trigger": "too_long"}, "because the provider said that the prompt was too long"),
        ({"trigger": "manual"}, "You asked for it"),
        ({"method": "edited", "trigger": "edit"}, "Edited by you"),
    ],
)
def test_who_made_a_version_and_why_is_said_in_words(browser, conversation, made, said):
    summary = summarise(conversation, FIRST, last_seq=2, **made)

    assert said in words_of(browser.get(page_of(summary)))


def test_the_text_is_shown_by_its_headings_and_never_as_markup():
    found = sections("Before.\n## Goal\n- One\n- Two\n\nThree <b>bold</b>\n### Open questions:\n1. Which?")

    assert [section.heading for section in found] == ["", "Goal", "Open questions"]
    assert [(block.is_list, block.lines) for block in found[1].blocks] == [
        (True, ["One", "Two"]),
        (False, ["Three <b>bold</b>"]),
    ]
    assert found[2].blocks[0].lines == ["Which?"]


def test_what_a_person_writes_into_a_summary_is_text_and_not_html(browser, conversation, first):
    edited = summaries.edit_summary(
        conversation.user_id, conversation.id, version=1, text="## <script>\n- <img src=x onerror=alert(1)>"
    )

    shown = browser.get(page_of(edited)).content.decode()

    assert "<img src=x" not in shown
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown


def test_what_changed_is_marked_by_word_and_unchanged_lines_are_folded(browser, conversation):
    same = "\n".join(f"- Fact number {number}" for number in range(40))
    before = summarise(conversation, f"{same}\n- Which hotel?", last_seq=2)
    after = summarise(conversation, f"{same}\n- The Miradouro.", last_seq=3, replaces=before)

    response = browser.get(page_of(after))

    changes = response.context["summary"].changes
    assert [(group.kind, len(group.lines), group.is_folded) for group in changes.groups] == [
        ("same", 40, True),
        ("removed", 1, False),
        ("added", 1, False),
    ]
    words = words_of(response)
    assert "40 lines unchanged" in words
    assert "Removed - Which hotel?" in words
    assert "Added - The Miradouro." in words
    assert "Against version 1, Messages 1–2" in words


def test_the_first_version_has_nothing_to_be_compared_with(browser, first):
    assert "There is no version to compare it with." in words_of(browser.get(page_of(first)))


def test_versions_lead_to_the_one_before_and_the_one_after(browser, conversation, first, second):
    third = summaries.edit_summary(
        conversation.user_id, conversation.id, version=2, text="## Goal\n- Lisbon."
    )

    page = browser.get(page_of(second)).context["summary"]

    assert (page.previous_url, page.next_url) == (page_of(first), page_of(third))
    assert page.row.state == "replaced"
    assert page.newest_url == page_of(third)


def test_a_version_of_a_branch_that_is_not_shown_says_so(browser, conversation, second):
    branches.take_off(conversation.user_id, turn_of(conversation, 2).id)

    response = browser.get(page_of(second))

    assert response.context["summary"].row.state == "elsewhere"
    assert response.context["summary"].left_out is None
    assert "not on the shown branch" in words_of(response)


def test_nobody_reads_a_version_made_from_something_forgotten(browser, conversation, first, second):
    Summary.objects.filter(id=first.id).update(is_stale=True)

    stale = words_of(browser.get(page_of(first)))
    compared = browser.get(page_of(second))

    assert "Which hotel?" not in stale
    assert "Unused: made from something changed or deleted" in stale
    assert compared.context["summary"].changes is None


def test_an_edit_becomes_the_version_in_use(browser, conversation, first):
    response = browser.post(
        reverse("inspector:summary_edit", args=[conversation.id]),
        {"version": "1", "text": "## Goal\n- Lisbon, and walnuts are forbidden."},
    )

    edited = queries.current_summary(conversation.user_id, conversation.id)
    assert (edited.version, edited.last_seq, edited.method) == (2, 2, "edited")
    assert response["Location"] == page_of(edited)


def test_an_edit_of_what_was_changed_meanwhile_keeps_the_text_beside_the_newest(
    browser, conversation, second
):
    response = browser.post(
        reverse("inspector:summary_edit", args=[conversation.id]),
        {"version": "1", "text": "## Goal\n- My own words."},
    )

    assert response.status_code == 409
    assert response.context["draft"] == "## Goal\n- My own words."
    assert response.context["summary"].row.version == 2
    words = words_of(response)
    assert "The newest, version 2" in words
    assert "The hotel is the Miradouro." in words
    assert 'name="version" value="2"' in response.content.decode()


@pytest.mark.parametrize("text", ["", "   ", "word " * 40_000])
def test_an_edit_that_cannot_be_kept_says_why_and_loses_nothing(browser, conversation, first, text):
    response = browser.post(
        reverse("inspector:summary_edit", args=[conversation.id]), {"version": "1", "text": text}
    )

    assert response.status_code == 422
    assert response.context["form_error"]
    assert text.strip() in response.context["draft"]
    assert queries.summaries(conversation.user_id, conversation.id).count() == 1


def test_the_limit_of_an_edit_is_said_before_it_is_met(browser, first):
    assert "At most 2,000 tokens, about 1,500 words." in words_of(browser.get(page_of(first)))


def asked_for(browser, conversation, form, committing) -> str:
    with committing(execute=True):
        response = browser.post(reverse("inspector:summary_make", args=[conversation.id]), form)
    assert "Being made Reload this page in a moment" in words_of(browser.get(response["Location"]))
    return response["Location"]


def test_a_version_made_again_is_asked_for_in_the_background_and_waited_for(
    browser, first, nudges, django_capture_on_commit_callbacks
):
    conversation = first.conversation

    page = asked_for(browser, conversation, {"again": "1"}, django_capture_on_commit_callbacks)

    assert nudges == [(SUMMARISE_AGAIN, conversation.id)]
    assert page == page_of(first, "?newer_than=1")


def test_a_first_version_can_be_asked_for_before_it_is_due(
    browser, conversation, nudges, django_capture_on_commit_callbacks
):
    page = asked_for(browser, conversation, {}, django_capture_on_commit_callbacks)

    assert nudges == [(SUMMARISE_NOW, conversation.id)]
    assert page == reverse("inspector:conversation", args=[conversation.id]) + "?newer_than=0"


def test_a_page_that_waits_shows_the_version_once_it_is_there(browser, conversation, first):
    waiting = page_of(first, "?newer_than=1")
    progress = browser.get(waiting).context["waiting"].progress_url
    before = browser.get(progress, HTTP_HX_REQUEST="true")
    second = summarise(conversation, SECOND, last_seq=3, replaces=first)

    asked = browser.get(progress, HTTP_HX_REQUEST="true")
    reloaded = browser.get(waiting)

    assert "Being made" in before.content.decode()
    assert asked["HX-Redirect"] == reloaded["Location"] == page_of(second)


def test_a_page_waits_for_a_minute_and_then_says_that_nothing_came(browser, conversation, first):
    response, looks = browser.get(page_of(first, "?newer_than=1")), 0
    while response.context["waiting"].progress_url:
        response = browser.get(response.context["waiting"].progress_url, HTTP_HX_REQUEST="true")
        looks += 1

    assert looks == 30
    assert "No new version yet" in response.content.decode()
    assert "hx-trigger" not in response.content.decode()


def test_the_conversation_lists_its_versions_with_who_made_them(browser, conversation, second):
    response = browser.get(reverse("inspector:conversation", args=[conversation.id]))

    assert [(row.version, row.state, row.url) for row in response.context["summaries"]] == [
        (2, "in_use", page_of(second)),
        (1, "replaced", page_of(second.replaces)),
    ]
    assert "Summarise now" in words_of(response)


@pytest.mark.parametrize("name", ["summary_edit", "summary_make", "pin"])
def test_another_person_changes_nothing(client, bob, first, nudges, name):
    client.force_login(bob)
    conversation = first.conversation
    turn = turn_of(conversation, 2)

    response = client.post(
        reverse(f"inspector:{name}", args=[conversation.id]),
        {"version": "1", "text": ALLERGY, "turn": str(turn.id)},
    )

    assert response.status_code == 404
    assert nudges == []
    assert queries.summaries(conversation.user_id, conversation.id).count() == 1
    assert not queries.pinned_lines(conversation.user_id, conversation.id).exists()


def test_another_person_sees_no_version_and_takes_no_line_off(client, bob, conversation, first):
    line = summaries.pin_line(conversation.user_id, turn_of(conversation, 2).id, text=ALLERGY)
    client.force_login(bob)

    assert client.get(page_of(first)).status_code == 404
    assert client.post(reverse("inspector:unpin", args=[line.id])).status_code == 404
    assert queries.pinned_lines(conversation.user_id, conversation.id).count() == 1


def test_a_version_that_never_was_does_not_exist(browser, conversation, first):
    for version in (0, 7, 10**12):
        address = reverse("inspector:summary", args=[conversation.id, version])
        assert browser.get(address).status_code == 404


def test_the_summary_of_a_temporary_chat_is_edited_like_any(browser, alice):
    passing = start(alice, is_temporary=True)
    say(passing, ALLERGY, "Noted, thank you.")
    passing.refresh_from_db()
    made = summarise(passing, FIRST, last_seq=1)

    browser.post(
        reverse("inspector:summary_edit", args=[passing.id]), {"version": "1", "text": "## Goal\n- Walnuts."}
    )

    edited = queries.current_summary(alice.id, passing.id)
    assert (edited.version, edited.text) == (2, "## Goal\n- Walnuts.")
    assert "Edited by you" in words_of(browser.get(page_of(edited)))
    assert browser.get(page_of(made)).context["summary"].newest_url == page_of(edited)
