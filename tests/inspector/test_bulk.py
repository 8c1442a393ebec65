"""One thing done to many facts: those that were picked, or all that match; many only after a typed word."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from memoryapp.activity.models import Entry
from memoryapp.longterm import forgettings, lifetimes, queries
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Experience, Forgetting, Memory
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.trust import Origin
from tests.inspector.reading import words_of
from tests.inspector.test_experiences import learn
from tests.longterm.saying import DAY, NOW, live, remember

FACTS, BULK = reverse("inspector:facts"), reverse("inspector:facts_bulk")


def many(user, count: int) -> list[Memory]:
    return [remember(user, f"Invoice {number} was paid").memory for number in range(count)]


def picked(*memories: Memory) -> list[str]:
    return [f"{memory.id}.{memory.version}" for memory in memories]


def test_picked_facts_are_forgotten_and_the_rest_stay(browser, alice):
    one, two, three = many(alice, 3)

    response = browser.post(BULK, {"do": "forget", "fact": picked(one, two), "query": "?kind=event"})

    assert (response.status_code, response["Location"]) == (302, f"{FACTS}?kind=event")
    assert live(alice) == [three.statement]


def test_the_next_page_offers_to_undo_it_and_only_that_page(browser, alice):
    one, two, _ = many(alice, 3)
    browser.post(BULK, {"do": "forget", "fact": picked(one, two)})

    first, second = browser.get(FACTS), browser.get(FACTS)

    act = Forgetting.objects.get(user=alice)
    assert "Forgotten: 2 facts." in words_of(first)
    assert re.search(r"until \d\d:\d\d\. Undo Delete for good now Receipt See in Activity", words_of(first))
    assert f"{reverse('inspector:activity')}#undoable" in first.content.decode()
    assert reverse("inspector:forgetting_undo", args=[act.id]) in first.content.decode()
    assert "Forgotten: 2 facts" not in words_of(second)


def test_undo_brings_them_back(browser, alice):
    one, two, _ = many(alice, 3)
    browser.post(BULK, {"do": "forget", "fact": picked(one, two)})
    act = Forgetting.objects.get(user=alice)

    response = browser.post(
        reverse("inspector:forgetting_undo", args=[act.id]), {"next": f"{FACTS}?sort=oldest"}
    )

    assert response["Location"] == f"{FACTS}?sort=oldest"
    assert len(live(alice)) == 3
    assert "2 are back." in words_of(browser.get(FACTS))


def test_undo_counts_facts_and_not_the_experiences_that_come_back_with_them(browser, alice):
    [one] = many(alice, 1)
    learn(alice)
    browser.post(BULK, {"do": "forget", "fact": picked(one)})
    act = Forgetting.objects.get(user=alice)
    Experience.objects.filter(user=alice).update(forgetting=act)

    browser.post(reverse("inspector:forgetting_undo", args=[act.id]))

    assert "It is back." in words_of(browser.get(FACTS))


def test_forget_now_ends_the_time_to_undo(browser, alice):
    [one] = many(alice, 1)
    browser.post(BULK, {"do": "forget", "fact": picked(one)})
    act = Forgetting.objects.get(user=alice)

    browser.post(reverse("inspector:forgetting_finish", args=[act.id]))
    browser.post(reverse("inspector:forgetting_undo", args=[act.id]))

    assert "It was deleted for good at" in words_of(browser.get(FACTS))
    assert not Memory.everything.filter(user=alice).exists()


def test_another_persons_forgetting_cannot_be_undone_or_finished(browser, client, alice, bob):
    [one] = many(alice, 1)
    browser.post(BULK, {"do": "forget", "fact": picked(one)})
    act = Forgetting.objects.get(user=alice)
    client.force_login(bob)

    for name in ("forgetting_undo", "forgetting_finish"):
        assert client.post(reverse(f"inspector:{name}", args=[act.id])).status_code == 404

    act.refresh_from_db()
    assert (act.undone_at, act.finished_at) == (None, None)


def test_all_that_match_are_found_again_by_the_server(browser, alice):
    many(alice, 3)
    remember(alice, "I like figs", kind="preference")

    browser.post(BULK, {"do": "forget", "all": "1", "query": "?kind=event"})

    assert live(alice) == ["I like figs"]


def test_more_than_twenty_are_done_only_after_the_word_is_typed(browser, alice):
    many(alice, 21)
    asked = {"do": "forget", "all": "1", "query": "?kind=event"}

    page = browser.post(BULK, asked)
    asked["shown"] = page.context["shown"]
    wrong = browser.post(BULK, {**asked, "typed": "yes"})

    assert page.status_code == 200
    assert "Forget 21 facts?" in words_of(page)
    assert [(kind.slug, count) for kind, count in page.context["counts"]] == [("event", 21)]
    assert wrong.status_code == 422
    assert "Type the word “forget”" in words_of(wrong)
    assert len(live(alice)) == 21

    browser.post(BULK, {**asked, "typed": " Forget "})

    assert live(alice) == []


def test_a_list_that_changed_since_it_was_looked_at_is_shown_again(browser, alice):
    memories, asked = many(alice, 22), {"do": "forget", "all": "1"}
    asked["shown"] = browser.post(BULK, asked).context["shown"]
    forgettings.forget(alice.id, [memories[0].id], now=NOW)
    remember(alice, "My daughter was born in Lisbon")  # as many as before, and not the same

    response = browser.post(BULK, {**asked, "typed": "forget"})

    assert response.status_code == 422
    assert "The list changed meanwhile" in words_of(response)
    assert response.context["samples"][0] == "My daughter was born in Lisbon"
    assert len(live(alice)) == 22


def lifetimes_of(user) -> list[tuple[object, ...]]:
    rows = Memory.objects.filter(user=user).order_by("id")
    return list(rows.values_list("id", "is_kept", "expires_at", "affirmed_at"))


def undo(browser):
    offer = browser.session["undo_offers"][-1]
    return browser.post(offer["url"], offer["fields"])


@pytest.mark.parametrize("action", ["follow", "keep", "extend"])
def test_undo_gives_every_lifetime_back_as_it_was(browser, alice, action):
    one, two, three = memories = many(alice, 3)
    Memory.objects.filter(id=one.id).update(is_kept=True)
    Memory.objects.filter(id=two.id).update(expires_at=NOW + 3 * DAY + timedelta(minutes=7))
    Memory.objects.filter(id=three.id).update(affirmed_at=NOW - 9 * DAY)
    before = lifetimes_of(alice)

    browser.post(BULK, {"do": action, "fact": picked(*memories)})
    between = lifetimes_of(alice)
    undo(browser)

    assert between != before
    assert lifetimes_of(alice) == before


def test_what_expires_by_the_rule_of_its_kind_is_said_and_comes_back_by_undo(browser, alice):
    one, two = many(alice, 2)
    Memory.objects.filter(id=one.id).update(is_kept=True, affirmed_at=NOW - 3000 * DAY)
    Memory.objects.filter(id=two.id).update(is_kept=True)

    browser.post(BULK, {"do": "follow", "fact": picked(one, two)})
    offer = browser.session["undo_offers"][-1]
    left = live(alice)
    undo(browser)

    assert offer["text"] == "As long as their kinds say: 2 facts. 1 of them has expired by that."
    assert (left, len(live(alice))) == ([two.statement], 2)


def test_a_change_of_lifetimes_is_undone_by_its_person_alone_and_for_an_hour(
    browser, client, alice, bob, monkeypatch
):
    [one] = many(alice, 1)
    browser.post(BULK, {"do": "keep", "fact": picked(one)})
    offer = browser.session["undo_offers"][-1]
    client.force_login(bob)

    client.post(offer["url"], offer["fields"])
    later = timezone.now() + lifetimes.UNDO_FOR
    monkeypatch.setattr("memoryapp.inspector.undo_views.timezone.now", lambda: later)
    browser.post(offer["url"], offer["fields"])

    assert Memory.objects.get(id=one.id).is_kept
    assert browser.post(offer["url"], {"change": "nonsense"}).status_code == 422


def test_an_undo_says_how_many_it_left_alone_for_a_later_word(browser, alice):
    memories = many(alice, 3)
    Memory.objects.filter(user=alice).update(affirmed_at=NOW - 9 * DAY)
    browser.post(BULK, {"do": "extend", "fact": picked(*memories)})
    offer = browser.session["undo_offers"][-1]
    browser.post(BULK, {"do": "keep", "fact": picked(memories[0])})

    browser.post(offer["url"], offer["fields"])

    said = "As before: 2 facts. One was left alone: it was changed since, is not there any more, or was of a kind"
    assert said in words_of(browser.get(FACTS))
    left = [(is_kept, at == NOW - 9 * DAY) for _, is_kept, _, at in lifetimes_of(alice)]
    assert left == [(True, False), (False, True), (False, True)]


def test_another_kind_is_taken_back_by_the_offered_button(browser, alice):
    [one] = many(alice, 1)

    browser.post(BULK, {"do": "change_kind", "kind": "preference", "fact": picked(one)})
    offer = browser.session["undo_offers"][-1]
    browser.post(offer["url"], offer["fields"])

    assert queries.get_memory(alice.id, one.id).kind.slug == "event"
    assert "It is as it was." in words_of(browser.get(FACTS))


def test_extending_counts_those_that_moved_and_says_what_became_of_the_others(browser, alice):
    moved, kept, dated, full, old = memories = many(alice, 5)
    Memory.objects.filter(id__in=[moved.id, kept.id, dated.id]).update(affirmed_at=NOW - 9 * DAY)
    lifetimes.keep(alice.id, [kept.id])
    lifetimes.end_at(alice.id, [dated.id], at=NOW + 3 * DAY)
    give_feedback(alice.id, old.id, Verdict.WRONG, now=NOW)
    Entry.objects.all().delete()

    browser.post(BULK, {"do": "extend", "fact": picked(*memories)})
    browser.post(BULK, {"do": "extend", "fact": picked(moved, kept, full)})

    first, second = [offer["text"] for offer in browser.session["undo_offers"]]
    assert first == (
        f"Extended: 1 fact. It expires at the end of {said(180)}. 1 fact does not expire. "
        "1 fact keeps its own date. 1 fact already has its full lifetime. 1 fact is not in use."
    )
    assert second == (
        "1 fact does not expire. 2 facts already have their full lifetime. None of them was extended. "
        "For longer, set a date on its page."
    )
    assert list(Entry.objects.values_list("rows", "subject_id")) == [(1, moved.id)]


def test_what_moved_nothing_is_told_neutrally_and_what_was_confirmed_is_not(browser, alice):
    memory = remember(alice, "My parcel number is 4711", kind="ticket").memory
    waiting = remember(alice, "Trust this page", origin=Origin.UNTRUSTED).memory

    browser.post(BULK, {"do": "extend", "fact": picked(memory)})
    unmoved = browser.get(FACTS).content.decode()
    browser.post(BULK, {"do": "confirm", "fact": picked(waiting)})
    confirmed = browser.get(FACTS).content.decode()

    assert (
        "1 fact already has its full lifetime. It was not extended. For longer, set a date on its page."
        in unmoved
    )
    assert "notice--success" not in unmoved
    assert "notice--success" in confirmed


def test_extending_many_says_until_when_they_live_now(browser, alice):
    tickets = [
        remember(alice, f"My parcel number is {number}", kind="ticket", said_at=NOW - number * DAY).memory
        for number in (3, 9)
    ]
    event = remember(alice, "The fair is in spring", kind="event", said_at=NOW - 9 * DAY).memory
    browser.post(BULK, {"do": "extend", "fact": picked(*tickets)})
    Memory.objects.filter(user=alice).update(affirmed_at=NOW - 5 * DAY)
    browser.post(BULK, {"do": "extend", "fact": picked(*tickets, event)})

    same, several = [offer["text"] for offer in browser.session["undo_offers"]]

    assert same == f"Extended: 2 facts. They expire at the end of {said(30)}."
    assert several == f"Extended: 3 facts. They expire between {said(30)} and {said(180)}."


def said(days: int) -> str:
    """The day so far away, as pages write it."""
    return date_format(timezone.localdate() + timedelta(days=days), "j F Y")


def test_what_can_still_be_undone_is_listed_once_the_notice_is_gone(browser, alice, bob):
    one, two, three = many(alice, 3)
    browser.post(BULK, {"do": "forget", "fact": picked(one, two)})
    with_notice = browser.get(FACTS)
    browser.post(BULK, {"do": "forget", "fact": picked(three)})
    browser.get(FACTS)

    after = browser.get(FACTS)
    browser.force_login(bob)
    of_bob = words_of(browser.get(FACTS))

    first = Forgetting.objects.filter(user=alice).earliest("created_at")
    until = timezone.localtime(first.undo_until)
    assert "Forgotten lately" not in words_of(with_notice)
    assert f"Forgotten lately: 3 facts. You can undo this until {until:%H:%M}. See and undo" in words_of(
        after
    )
    assert one.statement not in words_of(after)
    assert "Forgotten lately" not in of_bob


def test_what_can_be_undone_no_longer_is_not_listed(browser, alice):
    [one] = many(alice, 1)
    browser.post(BULK, {"do": "forget", "fact": picked(one)})
    browser.get(FACTS)
    Forgetting.objects.update(undo_until=timezone.now())

    assert "Forgotten lately" not in words_of(browser.get(FACTS))


def test_kept_extended_and_of_another_kind(browser, alice):
    memories = many(alice, 2)
    Memory.objects.filter(user=alice).update(affirmed_at=NOW - 9 * DAY)

    browser.post(BULK, {"do": "extend", "fact": picked(*memories)})
    browser.post(BULK, {"do": "change_kind", "kind": "preference", "fact": picked(*memories)})
    browser.post(BULK, {"do": "keep", "fact": picked(*memories)})

    rows = queries.memories(alice.id, kind="preference")
    assert [(row.is_kept, row.affirmed_at > NOW - DAY) for row in rows] == [(True, True)] * 2


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "The form is incomplete"),
        ({"do": "forget"}, "Pick the facts first"),
        ({"do": "forget", "fact": ["nonsense"]}, "Pick the facts first"),
        ({"do": "change_kind", "all": "1"}, "Choose the kind that they become"),
        ({"do": "change_kind", "all": "1", "kind": "nonsense"}, "There is no kind"),
        ({"do": "confirm", "all": "1"}, "Confirm what you have read"),
        ({"do": "forget", "all": "1", "query": "?q=xyzzy"}, "Nothing matches any more"),
    ],
)
def test_what_makes_no_sense_does_nothing_and_says_why(browser, alice, values, said):
    many(alice, 2)

    response = browser.post(BULK, values, follow=True)

    assert said in words_of(response)
    assert len(live(alice)) == 2


def test_waiting_facts_are_confirmed_as_they_were_read(browser, alice):
    one = remember(alice, "The invoice is due in May", origin=Origin.UNTRUSTED).memory
    two = remember(alice, "The rent is due in June", origin=Origin.UNTRUSTED).memory
    Memory.objects.filter(id=two.id).update(version=2)

    browser.post(BULK, {"do": "confirm", "fact": picked(one, two), "query": "?status=waiting"})

    assert live(alice) == ["The invoice is due in May"]


def test_ids_of_another_person_are_not_there(client, alice, bob):
    memories = many(alice, 2)
    client.force_login(bob)

    for action in ("forget", "keep", "extend", "confirm"):
        client.post(BULK, {"do": action, "fact": picked(*memories)})

    assert len(live(alice)) == 2
    assert not Memory.objects.filter(user=alice, is_kept=True).exists()
