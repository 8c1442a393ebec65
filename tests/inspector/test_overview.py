"""The overview: what each tier holds, what happened since the last visit, and the way back from each of it."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.accounts.models import User
from memoryapp.activity.models import Entry
from memoryapp.inspector import overview_views, storage, undoing
from memoryapp.longterm import kind_changes, operations, queries, tallies
from memoryapp.longterm.models import Memory
from memoryapp.policies.trust import Origin
from tests.inspector.reading import words_of
from tests.inspector.working import Working
from tests.longterm.saying import DAY, NOW, live, message, remember, remember_from

OVERVIEW = reverse("inspector:overview")


@pytest.fixture
def since(alice):
    """A visit that ended an hour ago; what is said from now on is new."""
    moment = timezone.now() - timedelta(hours=1)
    User.objects.filter(id=alice.id).update(memory_visited_at=moment)
    return moment


def news(browser):
    return browser.get(OVERVIEW).context["news"]


def said_of(rows):
    return [row.statement for row in rows]


def before(memory, moment):
    """As if it had been learned before that."""
    Memory.objects.filter(id=memory.id).update(recorded_at=moment - DAY)
    return memory


def test_each_tier_is_counted_and_runs_at_work_are_named(browser, alice):
    Working(alice)
    remember(alice, "I like figs")

    tiers = browser.get(OVERVIEW).context["tiers"]

    assert [tiers[name]["count"] for name in ("scratchpad", "transcript", "longterm")] == [1, 1, 1]
    assert tiers["scratchpad"]["running"] == 1


def test_a_first_visit_teaches_how_to_begin(browser):
    page = words_of(browser.get(OVERVIEW))

    assert "Nothing is remembered yet" in page
    assert "Write a fact yourself" in page


def test_only_what_is_newer_than_the_last_visit_is_news(browser, alice, since):
    before(remember(alice, "I have a piano").memory, since)
    remember(alice, "I like figs")

    found = news(browser)

    assert (found.since, said_of(found.learned), found.learned_count) == (since, ["I like figs"], 1)


def test_at_a_first_visit_everything_is_new(browser, alice):
    remember(alice, "I like figs")

    found = news(browser)

    assert (found.since, said_of(found.learned)) == (None, ["I like figs"])


def test_what_its_person_wrote_on_these_pages_is_no_news(browser, alice, since):
    remember(alice, "I like figs", channel=Memory.Channel.INSPECTOR)

    assert news(browser).is_nothing


def test_what_was_learned_is_forgotten_with_one_click_and_comes_back(browser, alice, since):
    memory = remember(alice, "I like figs").memory

    response = browser.post(reverse("inspector:fact_delete", args=[memory.id]), {"next": OVERVIEW})

    assert (response["Location"], live(alice)) == (OVERVIEW, [])
    [offer] = undoing.taken(response.wsgi_request)
    browser.post(offer.url, offer.fields)
    assert live(alice) == ["I like figs"]


@pytest.fixture
def moved(alice, since):
    """Lisbon, which Porto took the place of since the last visit."""
    former = before(remember(alice, "I live in Lisbon", said_at=NOW - DAY).memory, since)
    remember_from(alice, message(alice, "I live in Porto"), "I live in Porto")
    return former


def test_what_changed_is_shown_before_and_after_and_not_as_learned(browser, moved):
    found = news(browser)

    [row] = found.changed
    assert (row.before, row.statement) == ("I live in Lisbon", "I live in Porto")
    assert found.learned == []


def test_a_change_goes_back_with_one_click_and_forth_again(browser, alice, moved):
    [row] = news(browser).changed
    url = reverse("inspector:fact_swap", args=[row.memory_id])

    response = browser.post(url, {"version": str(row.version), "next": OVERVIEW})

    assert (response.status_code, live(alice)) == (303, ["I live in Lisbon"])
    [offer] = undoing.taken(response.wsgi_request)
    browser.post(offer.url, offer.fields)
    assert live(alice) == ["I live in Porto"]


def test_a_change_that_went_on_meanwhile_does_not_go_back(browser, alice, moved):
    url = reverse("inspector:fact_swap", args=[moved.id])

    response = browser.post(url, {"version": "77", "next": OVERVIEW})

    assert "changed since" in words_of(browser.get(response["Location"]))
    assert live(alice) == ["I live in Porto"]


def test_what_its_person_decided_is_no_news(browser, alice, since):
    before(remember(alice, "I live in Lisbon", said_at=NOW - DAY).memory, since)
    waiting = remember(alice, "I live in Porto", origin=Origin.UNTRUSTED).memory
    before(waiting, since)

    operations.confirm(alice.id, waiting.id, version=1, now=timezone.now())

    assert news(browser).is_nothing


def test_what_expired_is_brought_back_with_one_click(browser, alice, since):
    memory = before(remember(alice, "The parcel comes today").memory, since)
    Memory.objects.filter(id=memory.id).update(expires_at=since + timedelta(minutes=5))
    assert said_of(news(browser).expired) == ["The parcel comes today"]

    browser.post(reverse("inspector:fact_lifetime", args=[memory.id]), {"span": "bring_back"})

    assert live(alice) == ["The parcel comes today"]
    assert news(browser).expired == []


def test_what_expired_before_the_last_visit_is_no_news(browser, alice, since):
    memory = before(remember(alice, "The parcel comes today").memory, since)
    Memory.objects.filter(id=memory.id).update(expires_at=since - timedelta(minutes=5))

    assert news(browser).is_nothing


def test_what_a_shorter_lifetime_hid_since_has_expired_since(browser, alice, since):
    old = remember(alice, "The exam is over", said_at=NOW - 40 * DAY).memory
    over = remember(alice, "The parcel comes", said_at=NOW - 40 * DAY).memory
    Memory.objects.filter(id=over.id).update(expires_at=NOW - 2 * DAY)
    before_it = news(browser)

    values = {"ttl_days": 30, "rationale": "A month is enough."}
    kind_changes.change("event", values, changed_by=None, now=timezone.now())
    after = news(browser)

    assert (before_it.expired_count, after.expired_count) == (0, 1)
    assert said_of(after.expired) == [old.statement]
    assert after.expired[0].is_hidden


def test_what_the_sweep_deleted_since_is_counted(browser, alice, since):
    Entry.objects.create(user=alice, actor="system", verb="expired", tier="longterm", rows=4)

    assert news(browser).deleted == 4


def test_more_than_are_shown_are_counted(browser, alice):
    for number in range(overview_views.SHOWN + 2):
        soon = remember(alice, f"Meeting {number} is on Friday").memory
        Memory.objects.filter(id=soon.id).update(expires_at=timezone.now() + 2 * DAY)

    page = browser.get(OVERVIEW).context

    assert len(page["expiring"]) == len(page["news"].learned) == overview_views.SHOWN
    assert page["expiring_count"] == page["news"].learned_count == overview_views.SHOWN + 2


def test_all_that_is_new_can_be_listed(browser, alice):
    for number in range(overview_views.SHOWN + 1):
        remember(alice, f"Meeting {number} is on Friday")

    first = browser.get(OVERVIEW)
    everything = browser.get(OVERVIEW, {"news": "all"})

    assert 'href="?news=all#news"' in first.content.decode()
    assert "All 6" in words_of(first)
    assert len(everything.context["news"].learned) == overview_views.SHOWN + 1
    assert "#news" not in everything.content.decode()


def test_the_first_that_wait_and_that_expire_are_shown(browser, alice):
    for number in range(4):
        remember(alice, f"Page {number} is to be trusted", origin=Origin.UNTRUSTED)
    soon = remember(alice, "The meeting is on Friday").memory
    Memory.objects.filter(id=soon.id).update(expires_at=timezone.now() + 2 * DAY)

    context = browser.get(OVERVIEW).context

    assert (context["pending_count"], len(context["waiting"])) == (4, 3)
    assert said_of(context["expiring"]) == ["The meeting is on Friday"]
    assert context["expiring_count"] == 1


def test_extending_names_the_day_it_leads_to_and_is_not_offered_where_nothing_moves(browser, alice):
    dated = remember(alice, "The meeting is on Friday").memory
    Memory.objects.filter(id=dated.id).update(expires_at=timezone.now() + 2 * DAY)
    remember(alice, "My parcel number is 4711", kind="ticket", said_at=NOW - 25 * DAY)
    last = timezone.localdate() + 30 * DAY

    page = words_of(browser.get(OVERVIEW))

    assert page.count("Extend to") == 1
    assert f"Extend to {last.day} {last:%B} {last.year}" in page


def test_the_charts_say_what_there_is(browser, alice):
    remember(alice, "I like figs", kind="preference")
    remember(alice, "I like dates", kind="preference")
    remember(alice, "The fair is in spring", kind="event")

    context = browser.get(OVERVIEW).context

    assert [point.value for point in context["kinds"].points] == [2, 1]
    assert context["kinds"].points[0].url.endswith("?kind=preference")
    assert [point.value for point in context["growth"].points] == [0] * 11 + [3]
    assert context["recalls"].is_empty
    assert context["room"].points[0].value == 3


def test_growth_counts_what_there_was_at_the_end_of_each_week(alice):
    for weeks, statement in enumerate(["I like figs", "I like dates", "I like plums"]):
        memory = remember(alice, statement).memory
        Memory.objects.filter(id=memory.id).update(recorded_at=NOW - timedelta(weeks=weeks))

    standing = tallies.standing(alice.id, now=NOW, time_zone="UTC", weeks=4, since=NOW, days=7)

    assert [count for _, count in standing.growth] == [0, 1, 2, 3]
    assert {monday.weekday() for monday, _ in standing.growth} == {0}
    assert [(kind.slug, count) for kind, count in standing.by_kind] == [("event", 3)]


def test_storage_is_told_by_tier_and_grows_with_what_is_said(alice, bob):
    before_it = storage.bytes_by_tier(alice.id)
    remember_from(alice, message(alice, "I like figs"), "I like figs")

    held = storage.bytes_by_tier(alice.id)

    assert before_it == storage.bytes_by_tier(bob.id) == {"scratchpad": 0, "transcript": 0, "longterm": 0}
    assert held["longterm"] > 0
    assert held["transcript"] > 0
    assert held["scratchpad"] == 0


def test_storage_of_very_many_rows_is_measured_by_some_of_them(alice, monkeypatch):
    for number in range(4):
        remember(alice, f"Meeting {number} is on Friday")
    exact = storage.bytes_by_tier(alice.id)
    monkeypatch.setattr(storage, "SAMPLE_ROWS", 1)

    assert storage.bytes_by_tier(alice.id) == exact  # they are all as long


def test_what_memory_may_do_is_switched_there(browser, alice):
    remember(alice, "I like figs")

    assert "Pause using memory" in words_of(browser.get(OVERVIEW))


def test_bobs_overview_is_empty(browser, bob, alice, moved):
    browser.force_login(bob)

    response = browser.get(OVERVIEW)

    assert "Lisbon" not in response.content.decode()
    assert [tier["count"] for tier in response.context["tiers"].values()] == [0, 0, 0]


def test_bob_cannot_swap_what_is_alices(browser, bob, alice, moved):
    browser.force_login(bob)

    response = browser.post(reverse("inspector:fact_swap", args=[moved.id]), {"version": str(moved.version)})

    assert response.status_code == 404
    assert live(alice) == ["I live in Porto"]


def test_strangers_are_asked_to_sign_in(client, db):
    assert client.get(OVERVIEW)["Location"].startswith("/accounts/login/")


def test_many_facts_cost_no_more_queries_and_no_larger_page_than_few(browser, alice, since):
    def known(numbers):
        for number in numbers:
            memory = remember(alice, f"Event {number} takes place").memory
            Memory.objects.filter(id=memory.id).update(expires_at=timezone.now() + DAY)
            remember(alice, f"Page {number} is to be trusted", origin=Origin.UNTRUSTED)

    def asked():
        with CaptureQueriesContext(connection) as captured:
            response = browser.get(OVERVIEW)
        return len(captured), len(response.content)

    beyond = overview_views.SHOWN + 1  # from there on what is shown is counted too
    known(range(beyond))
    browser.get(OVERVIEW)
    few, _ = asked()
    known(range(beyond, 30))

    many, size = asked()

    assert many == few
    assert size < 100_000
    assert queries.count(alice.id) == 30
