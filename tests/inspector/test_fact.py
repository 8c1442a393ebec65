"""The page of one fact: why it is believed, how long it lives, how it changed, who used it, and what can be done."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryapp.accounts import operations as accounts
from memoryapp.acting import Actor, acting_as
from memoryapp.activity import operations as activity
from memoryapp.context.models import Use
from memoryapp.longterm import lifetimes, queries
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Forgetting, Kind, Memory
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.trust import Origin
from memoryapp.transcript import conversations
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.models import Turn
from tests.inspector.reading import words_of
from tests.inspector.working import Working
from tests.longterm.saying import DAY, NOW, live, message, remember, remember_from


def page_of(memory: Memory) -> str:
    return reverse("inspector:fact", args=[memory.id])


@pytest.fixture
def lisbon(alice) -> Memory:
    return remember(alice, "I live in Lisbon by the river", kind="identity").memory


def edit(browser, memory: Memory, statement: str, *, version: int = 1, **values: str):
    return browser.post(f"{page_of(memory)}edit", {"statement": statement, "version": str(version), **values})


def span(browser, memory: Memory, name: str, **values: str):
    return browser.post(f"{page_of(memory)}lifetime", {"span": name, **values})


def test_versions_show_word_by_word_what_changed(browser, lisbon):
    edit(browser, lisbon, "I live in Porto by the river")

    newest, first = browser.get(page_of(lisbon)).context["memory"].versions

    assert [(piece.sort, piece.text) for piece in newest.changes] == [
        ("same", "I live in "),
        ("removed", "Lisbon"),
        ("added", "Porto"),
        ("same", " by the river"),
    ]
    assert first.changes == ()
    assert "removed: Lisbonadded: Porto" in words_of(browser.get(page_of(lisbon)))


def test_kind_key_and_confidence_are_corrected_in_the_same_form(browser, lisbon):
    edit(browser, lisbon, "I live in Lisbon by the river", kind="event", key="home.place", sure="60")

    lisbon.refresh_from_db()
    assert (lisbon.kind.slug, lisbon.key, lisbon.confidence) == ("event", "home.place", 0.6)
    newest = browser.get(page_of(lisbon)).context["memory"].versions[0]
    assert "kind: Who you are → Events and plans" in newest.notes
    assert "sure: 95 % → 60 %" in newest.notes


@pytest.mark.parametrize("sure", ["101", "-1", "very", "9" * 9])
def test_a_confidence_that_is_none_is_refused(browser, lisbon, sure):
    response = edit(browser, lisbon, "I live in Porto", sure=sure)

    assert response.status_code == 422
    lisbon.refresh_from_db()
    assert lisbon.version == 1


def test_an_emptied_text_asks_whether_to_forget_it(browser, alice, lisbon):
    response = edit(browser, lisbon, "  ")

    assert response.status_code == 422
    assert "Or should it be forgotten?" in words_of(response)
    assert reverse("inspector:fact_delete", args=[lisbon.id]) in response.content.decode()
    assert live(alice) == ["I live in Lisbon by the river"]


def test_of_two_edits_the_second_may_keep_its_words(browser, lisbon):
    edit(browser, lisbon, "I live in Porto")
    stale = edit(browser, lisbon, "I live in Faro")

    assert stale.context["draft"].is_stale
    edit(browser, lisbon, stale.context["draft"].statement, version=stale.context["memory"].version)

    lisbon.refresh_from_db()
    assert (lisbon.statement, lisbon.version) == ("I live in Faro", 3)


def test_after_a_correction_the_version_before_is_one_click_away(browser, lisbon):
    edit(browser, lisbon, "I live in Porto")

    shown = browser.get(page_of(lisbon))
    response = browser.post(f"{page_of(lisbon)}back", {"version": "2", "to": "1"})

    assert "Back to version 1" in words_of(shown)
    assert response["Location"] == page_of(lisbon)
    lisbon.refresh_from_db()
    assert (lisbon.statement, lisbon.version) == ("I live in Lisbon by the river", 3)
    assert "says again what version 1 said" in words_of(browser.get(page_of(lisbon)))


@pytest.mark.parametrize(("version", "to", "status"), [("1", "1", 409), ("2", "9", 422), ("2", "x", 422)])
def test_there_is_no_way_back_to_what_never_was_or_past_what_was_not_read(
    browser, lisbon, version, to, status
):
    edit(browser, lisbon, "I live in Porto")

    response = browser.post(f"{page_of(lisbon)}back", {"version": version, "to": to})

    assert response.status_code == status
    lisbon.refresh_from_db()
    assert lisbon.statement == "I live in Porto"


def test_a_fact_says_why_it_is_as_sure_as_it_is(browser, alice):
    source = message(alice, "I am often tired on Mondays")
    memory = remember_from(alice, source, "Tired on Mondays", origin=Origin.MODEL_INFERRED).memory
    again = message(alice, "Tired on Mondays")
    remember_from(alice, again, "Tired on Mondays")
    give_feedback(alice.id, memory.id, Verdict.NOT_RELEVANT, now=NOW)

    reasons = [reason.text for reason in browser.get(page_of(memory)).context["memory"].reasons]

    assert reasons[0] == "Begins at 75 %, because the model concluded it from what you wrote"
    assert reasons[1] == "You said that it was not relevant to a reply"
    assert reasons[2] == "Said again once: its lifetime starts again, and it is no surer"


def test_right_and_wrong_are_said_on_the_page(browser, alice):
    memory = remember(alice, "Tired on Mondays", origin=Origin.MODEL_INFERRED).memory

    browser.post(f"{page_of(memory)}word", {"said": "confirmed", "version": "1"})
    memory.refresh_from_db()
    assert memory.confidence == 0.95
    browser.post(f"{page_of(memory)}word", {"said": "wrong", "version": str(memory.version)})

    shown = browser.get(page_of(memory))
    assert live(alice) == []
    assert "Set aside as wrong: nothing uses it any more." in words_of(shown)
    memory.refresh_from_db()
    browser.post(f"{page_of(memory)}bring-back", {"version": str(memory.version)})
    assert live(alice) == ["Tired on Mondays"]


@pytest.mark.parametrize("said", ["", "corrected", "nonsense"])
def test_another_word_says_nothing(browser, alice, lisbon, said):
    response = browser.post(f"{page_of(lisbon)}word", {"said": said, "version": "1"})

    assert response.status_code == 422
    assert len(live(alice)) == 1


def test_a_lifetime_is_extended_kept_dated_and_left_to_its_kind(browser, alice):
    memory = remember(alice, "My order is 1041", kind="event", said_at=NOW - 9 * DAY).memory
    last = timezone.localdate() + timedelta(days=3)

    span(browser, memory, "extend")
    memory.refresh_from_db()
    assert memory.affirmed_at > NOW - DAY
    span(browser, memory, "keep")
    memory.refresh_from_db()
    assert memory.is_kept
    span(browser, memory, "on_date", day=last.isoformat())
    memory.refresh_from_db()
    assert timezone.localdate(memory.expires_at) == last + timedelta(days=1)
    span(browser, memory, "follow")
    memory.refresh_from_db()
    assert (memory.is_kept, memory.expires_at) == (False, None)


def test_what_is_extended_says_until_when_and_what_is_kept_that_there_is_nothing_to_do(browser, alice):
    ticket = remember(alice, "My parcel number is 4711", kind="ticket", said_at=NOW - 9 * DAY).memory

    extended = words_of(browser.post(f"{page_of(ticket)}lifetime", {"span": "extend"}, follow=True))
    lifetimes.keep(alice.id, [ticket.id])
    kept = words_of(browser.post(f"{page_of(ticket)}lifetime", {"span": "extend"}, follow=True))

    ends = timezone.localtime(queries.get_memory(alice.id, ticket.id).affirmed_at) + timedelta(days=30)
    assert f"Extended. It expires at the end of {ends.day} {ends:%B} {ends.year}." in extended
    assert "It does not expire: there is nothing to extend." in kept


def test_extending_what_was_learned_today_says_that_nothing_moves_and_offers_no_undo(browser, alice):
    ticket = remember(alice, "My parcel number is 4711", kind="ticket").memory

    page = words_of(browser.get(page_of(ticket)))
    assert "Extend to" not in page
    assert "Already has its full 30 days. For longer, set a date." in page
    response = browser.post(f"{page_of(ticket)}lifetime", {"span": "extend"})
    [offer] = browser.session["undo_offers"]
    shown = words_of(browser.get(response["Location"]))

    ends = timezone.localdate() + timedelta(days=30)
    assert offer["text"] == (
        "It already has its full lifetime: it was not extended. "
        f"It expires at the end of {ends.day} {ends:%B} {ends.year}."
    )
    assert (offer["url"], offer["is_nothing"]) == ("", True)
    assert "Undo" not in shown


def test_the_button_that_extends_names_the_day_it_leads_to(browser, alice):
    ticket = remember(alice, "My parcel number is 4711", kind="ticket", said_at=NOW - 9 * DAY).memory
    last = timezone.localdate() + timedelta(days=30)

    page = words_of(browser.get(page_of(ticket)))

    assert f"Extend to {last.day} {last:%B} {last.year}" in page
    assert "Already has its full" not in page
    assert "Keep for ever" in page


def test_a_date_is_set_and_the_notice_says_which(browser, lisbon):
    last = timezone.localdate() + timedelta(days=3)

    page = words_of(browser.get(page_of(lisbon)))
    span(browser, lisbon, "on_date", day=last.isoformat())
    told = words_of(browser.get(page_of(lisbon)))

    assert "Until a date Until the end of Set the date" in page
    assert f"It expires at the end of {last.day} {last:%B} {last.year}." in told


def test_the_reason_of_the_rule_is_given_only_where_the_rule_decides(browser, alice):
    ticket = remember(alice, "My parcel number is 4711", kind="ticket", said_at=NOW - 9 * DAY).memory
    reason = "Cases close within weeks"

    by_rule = words_of(browser.get(page_of(ticket)))
    lifetimes.keep(alice.id, [ticket.id])
    kept = words_of(browser.get(page_of(ticket)))
    span(browser, ticket, "on_date", day=(timezone.localdate() + timedelta(days=3)).isoformat())
    dated = words_of(browser.get(page_of(ticket)))

    assert [reason in page for page in (by_rule, kept, dated)] == [True, False, False]
    assert ["Extend to" in page for page in (by_rule, kept, dated)] == [True, False, False]
    assert ["Keep for ever" in page for page in (by_rule, kept, dated)] == [True, False, True]


def test_what_its_kind_keeps_for_ever_can_be_kept_whatever_becomes_of_the_rule(browser, lisbon):
    Kind.objects.filter(slug="identity").update(ttl_days=None)

    page = browser.get(page_of(lisbon))
    lifetimes.keep(lisbon.user_id, [lisbon.id])
    kept = words_of(browser.get(page_of(lisbon)))

    assert page.content.decode().count('value="keep"') == 1
    assert (
        "as long as that is the rule. “Keep for ever” keeps this one even if the rule changes."
        in words_of(page)
    )
    assert "kept for ever, by you" not in words_of(page)
    assert "kept for ever, by you" in kept
    assert "You keep it for ever, whatever becomes of the rule of its kind." in kept
    assert "“Keep for ever” keeps" not in kept


def test_it_is_wrong_leads_to_the_correction_first(browser, lisbon):
    page = browser.get(page_of(lisbon)).content.decode()

    menu = page[page.index("It is wrong") :]
    assert menu.index("Correct it") < menu.index("Set it aside") < menu.index("Forget it")
    assert f'href="{page_of(lisbon)}?edit=1"' in menu


def test_key_and_confidence_are_folded_away_until_something_is_wrong_with_them(browser, lisbon):
    calm = browser.get(f"{page_of(lisbon)}?edit=1")
    emptied = edit(browser, lisbon, "  ", key=lisbon.key, sure="95")
    unsure = edit(browser, lisbon, "I live in Porto", key=lisbon.key, sure="101")
    keyed = edit(browser, lisbon, "  ", key="home")
    edit(browser, lisbon, "I live in Faro")
    stale = edit(browser, lisbon, "I live in Porto", key=lisbon.key, sure="95")

    pages = (calm, emptied, unsure, keyed, stale)
    assert [page.context["is_more_open"] for page in pages] == [False, False, True, True, True]
    assert '<details class="disclosure" >' in calm.content.decode()
    assert '<details class="disclosure" open>' in unsure.content.decode()


def test_whose_words_they_are_is_said_of_what_was_corrected_and_of_what_was_written_here(browser, alice):
    source = message(alice, "By the way, I like figs.")
    figs = remember_from(alice, source, "I like figs", quote="I like figs.").memory
    plums = remember(alice, "I like plums", channel=Memory.Channel.INSPECTOR).memory

    said = words_of(browser.get(page_of(figs)))
    edit(browser, figs, "I like dates")
    corrected = words_of(browser.get(page_of(figs)))
    written = words_of(browser.get(page_of(plums)))

    assert "You said through the chat" in said
    assert "You wrote" not in said
    assert "you corrected it" in corrected
    assert "It first came from this: I like figs. You said" in corrected
    assert "You said through" not in corrected
    assert "You wrote it here, " in written
    assert "You said" not in written


def test_every_page_says_the_same_last_day(browser, alice, lisbon):
    last = timezone.localdate() + timedelta(days=3)
    span(browser, lisbon, "on_date", day=last.isoformat())
    day = f"{last.day} {last:%B}"

    pages = {name: words_of(browser.get(reverse(f"inspector:{name}"))) for name in ("overview", "facts")}
    pages["fact"] = words_of(browser.get(page_of(lisbon)))
    for page in pages.values():
        assert f"expires {day} {last.year}" in page.replace("Expires", "expires")
    assert f"{last:%A}, {day}" in words_of(browser.get(reverse("inspector:expiring")))
    assert pages["fact"].count("3 days left") == 1
    following = last + timedelta(days=1)
    assert f"{following.day} {following:%B}" not in pages["fact"]


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        (10, "You can undo this for a while; the notice says until when."),
        (0, "This cannot be undone."),
    ],
)
def test_it_says_before_whether_forgetting_can_be_undone(browser, lisbon, configure, minutes, said):
    configure(STRATA_UNDO_MINUTES=str(minutes))

    assert said in words_of(browser.get(page_of(lisbon)))


def test_what_waits_says_by_when_it_is_gone(browser, alice, lisbon):
    Memory.objects.filter(id=lisbon.id).update(
        status=Memory.Status.PENDING, expires_at=datetime(2031, 5, 4, tzinfo=UTC)
    )

    assert "at the latest until 3 May 2031" in words_of(browser.get(page_of(lisbon)))


@pytest.mark.parametrize("wish", [{"span": "keep"}, {"span": "follow"}, {"span": "extend"}])
def test_undo_of_a_lifetime_gives_the_one_before_to_the_moment(browser, alice, lisbon, wish):
    at = timezone.now() + timedelta(days=10, hours=3, minutes=7)
    Memory.objects.filter(id=lisbon.id).update(expires_at=at, affirmed_at=NOW - 9 * DAY)

    browser.post(f"{page_of(lisbon)}lifetime", wish)
    offer = browser.session["undo_offers"][-1]
    browser.post(offer["url"], offer["fields"])

    lisbon.refresh_from_db()
    assert (lisbon.is_kept, lisbon.expires_at, lisbon.affirmed_at) == (False, at, NOW - 9 * DAY)


def test_what_expires_at_once_by_the_rule_of_its_kind_says_so_and_comes_back_by_undo(browser, alice):
    ticket = remember(alice, "My parcel number is 4711", kind="ticket").memory
    Memory.objects.filter(id=ticket.id).update(is_kept=True, affirmed_at=NOW - 3000 * DAY)

    span(browser, ticket, "follow")
    offer = browser.session["undo_offers"][-1]
    between = live(alice)
    browser.post(offer["url"], offer["fields"])

    assert offer["text"] == "It lives as long as its kind says, which is over: it has just expired."
    assert (between, live(alice)) == ([], [ticket.statement])


def test_what_changes_nothing_of_a_lifetime_says_so_and_offers_no_undo(browser, alice, lisbon):
    lifetimes.keep(alice.id, [lisbon.id])

    span(browser, lisbon, "keep")
    kept = browser.session["undo_offers"][-1]
    Memory.objects.filter(id=lisbon.id).update(is_kept=False, expires_at=NOW - timedelta(minutes=5))
    span(browser, lisbon, "keep")
    over = browser.session["undo_offers"][-1]

    assert (kept["text"], kept["url"]) == ("Nothing changed: it was so already.", "")
    assert (over["text"], over["url"]) == ("It has expired: bring it back first.", "")


@pytest.mark.parametrize(
    "values", [{}, {"span": "nonsense"}, {"span": "on_date"}, {"span": "on_date", "day": "2020-01-01"}]
)
def test_a_lifetime_that_is_none_changes_nothing(browser, lisbon, values):
    response = browser.post(f"{page_of(lisbon)}lifetime", values)

    assert response.status_code == 422
    lisbon.refresh_from_db()
    assert (lisbon.is_kept, lisbon.expires_at) == (False, None)


def test_what_has_expired_is_brought_back(browser, alice, lisbon):
    Memory.objects.filter(id=lisbon.id).update(expires_at=NOW - timedelta(minutes=5))

    shown = words_of(browser.get(page_of(lisbon)))
    span(browser, lisbon, "bring_back")

    assert "It has expired" in shown
    assert live(alice) == ["I live in Lisbon by the river"]


def test_a_fact_lists_the_replies_that_used_it_and_who_read_it(browser, alice, lisbon):
    source = message(alice, "Where do I live?")
    turn = Turn.objects.get(messages=source.message_id)
    Use.objects.create(user=alice, turn=turn, memory=lisbon, rank=2, score=0.5, used_at=NOW)
    with acting_as(Actor.PROGRAM, "laptop"):
        for _ in range(2):
            activity.note_readings(alice.id, [lisbon.id], now=NOW)

    response = browser.get(page_of(lisbon))

    page = response.context["memory"]
    assert "Who else read it" in words_of(response)
    assert [(use.question, use.url) for use in page.uses] == [
        ("Where do I live?", reverse("chat:turn", args=[turn.id]))
    ]
    assert [(row.reader, row.day, row.times) for row in page.readings] == [("laptop", NOW.date(), 2)]


def test_a_reply_that_had_it_only_at_hand_is_none_that_used_it(browser, alice, lisbon):
    asked, hello = (
        Turn.objects.get(messages=message(alice, said).message_id)
        for said in ("Where do I live?", "Hello  you")
    )
    for turn, score in ((asked, Use.LOOKED_UP), (hello, Use.AT_HAND)):
        Use.objects.create(user=alice, turn=turn, memory=lisbon, rank=1, score=score, used_at=NOW)

    response = browser.get(page_of(lisbon))

    page, shown = response.context["memory"], words_of(response)
    assert (page.use_count, [use.question for use in page.uses]) == (1, ["Where do I live?"])
    assert (page.at_hand_count, [use.question for use in page.at_hand]) == (1, ["Hello you"])
    assert "looked up by a tool" in shown
    assert "Was at hand in 1 reply" in shown
    assert "number 1 of what was recalled" not in shown


def test_a_fact_lists_who_did_what_to_it(browser, lisbon):
    edit(browser, lisbon, "I live in Porto by the river")
    with acting_as(Actor.PROGRAM, "laptop"):
        lifetimes.keep(lisbon.user_id, [lisbon.id])

    log = browser.get(page_of(lisbon)).context["memory"].log

    assert [(entry.who, entry.did) for entry in log] == [
        ("laptop", "Lifetime changed"),
        ("You", "Edited"),
        ("Strata", "Added"),
    ]


def test_an_admin_reads_that_the_person_did_it(staff, alice, browser, lisbon):
    edit(browser, lisbon, "I live in Porto by the river")
    staff.post(reverse("policies:people_open", args=[alice.id]), {"reason": "Ticket 7"})

    log = staff.get(page_of(lisbon)).context["memory"].log

    assert ("The person", "Edited") in [(entry.who, entry.did) for entry in log]


def test_a_quote_is_marked_in_its_whole_message(browser, alice):
    source = message(alice, "By the way, I like figs. And you?")
    memory = remember_from(alice, source, "I like figs.", quote="I like figs.").memory

    assert "By the way, <mark>I like figs.</mark> And you?" in browser.get(page_of(memory)).content.decode()


def test_of_a_deleted_chat_a_fact_shows_its_quote_and_nothing_around_it(browser, alice):
    source = message(alice, "By the way, I like figs. And you?")
    memory = remember_from(alice, source, "I like figs.", quote="I like figs.").memory
    said = transcript.get_message(alice.id, source.message_id)

    conversations.delete_conversations(alice.id, [said.turn.conversation_id])

    page = browser.get(page_of(memory)).content.decode()
    assert "I like figs." in page
    assert "By the way" not in page


def test_editing_begins_in_its_place_and_without_scripts_on_a_page_of_its_own(browser, lisbon):
    whole = browser.get(f"{page_of(lisbon)}?edit=1").content.decode()
    part = browser.get(f"{page_of(lisbon)}?edit=1", headers={"HX-Request": "true"}).content.decode()

    assert part.strip().startswith('<div id="head"')
    assert "data-fact-edit" in part
    assert "data-fact-edit" in whole
    assert "<html" in whole
    assert "data-fact-edit" not in browser.get(page_of(lisbon)).content.decode()


def test_forgetting_can_be_undone_from_the_next_page(browser, alice, lisbon):
    response = browser.post(f"{page_of(lisbon)}forget")
    act = Forgetting.objects.get(user=alice)

    assert "You can undo this until" in words_of(browser.get(response["Location"]))
    assert browser.get(page_of(lisbon)).status_code == 404
    browser.post(reverse("inspector:forgetting_undo", args=[act.id]))
    assert browser.get(page_of(lisbon)).status_code == 200


@pytest.mark.parametrize("action", ["", "edit", "back", "word", "lifetime", "forget", "bring-back"])
def test_another_persons_fact_is_not_there(client, alice, bob, lisbon, action):
    client.force_login(bob)
    values = {"statement": "mine", "version": "1", "to": "1", "said": "wrong", "span": "keep"}

    response = client.post(page_of(lisbon) + action, values) if action else client.get(page_of(lisbon))

    assert response.status_code == 404
    assert queries.get_memory(alice.id, lisbon.id).version == 1
    assert not queries.get_memory(alice.id, lisbon.id).is_kept


@pytest.mark.usefixtures("nudges")
@pytest.mark.parametrize("records", [1, 2])
def test_forgetting_tells_of_the_run_records_that_no_undo_brings_back(browser, alice, lisbon, records):
    for _ in range(records):
        work = Working(alice)
        work.step(observation=lisbon.statement)
        work.end()
    other = remember(alice, "I like figs").memory

    told = browser.post(f"{page_of(lisbon)}forget", follow=True)
    silent = browser.post(f"{page_of(other)}forget", follow=True)

    gone = [
        "1 run record (the steps behind a reply) that held this is gone",
        "2 run records (the steps behind replies) that held this are gone",
    ][records - 1]
    assert f"{gone} for good, whatever you undo." in words_of(told)
    assert "run record" not in words_of(silent)


def test_after_forgetting_the_way_back_comes_first_and_the_rest_is_folded(browser, lisbon):
    told = words_of(browser.post(f"{page_of(lisbon)}forget", follow=True))

    assert re.search(
        r"Forgotten\. Who you are.{0,80}You can undo this until .{0,30}Undo Delete for good now Receipt "
        r"See in Activity What went with it, and what stays What was said stays in its conversation",
        told,
    )


def test_the_day_in_a_notice_is_in_the_language_of_its_person(browser, alice, lisbon):
    accounts.change_preferences(alice, language="de")
    Memory.objects.filter(id=lisbon.id).update(recorded_at=datetime(2026, 12, 1, 12, tzinfo=UTC))

    told = words_of(browser.post(f"{page_of(lisbon)}forget", follow=True))

    assert "1. Dez. 2026" in told
    assert "1 Dez" not in told
