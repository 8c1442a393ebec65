"""What expires soon: kept, extended or let go, one by one and many at once; and what expired lately, brought back."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.inspector import overview_presentation, undoing
from memoryapp.longterm import kind_changes, lifetimes, queries, tallies
from memoryapp.longterm.models import MAX_DAYS, Kind, KindChange, Memory
from memoryapp.longterm.presentation import last_day
from tests.inspector.reading import words_of
from tests.longterm.saying import DAY, NOW, live, remember

EXPIRING = reverse("inspector:expiring")
PICKED = reverse("inspector:expiring_picked")


def ending(user, statement, *, days):
    """In use until that many days from now."""
    memory = remember(user, statement).memory
    lifetimes.end_at(user.id, [memory.id], at=timezone.now() + timedelta(days=days))
    return memory


def ended(user, statement):
    """Past its end, and not deleted yet."""
    memory = remember(user, statement).memory
    Memory.objects.filter(id=memory.id).update(expires_at=NOW - DAY / 24)
    return memory


def listed(response):
    return [row.statement for day in response.context["groups"] for row in day.rows]


@pytest.fixture
def soon(alice):
    return ending(alice, "The meeting is on Friday", days=3)


@pytest.fixture
def later(alice):
    return ending(alice, "The fair is in spring", days=20)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["The meeting is on Friday"]),
        ("?days=7", ["The meeting is on Friday"]),
        ("?days=30", ["The meeting is on Friday", "The fair is in spring"]),
        ("?days=90", ["The meeting is on Friday", "The fair is in spring"]),
        ("?days=5000", ["The meeting is on Friday"]),
    ],
)
def test_how_far_ahead_it_looks_is_in_the_address(browser, soon, later, query, found):
    assert listed(browser.get(EXPIRING + query)) == found


def test_what_is_kept_for_ever_or_lives_long_is_not_there(browser, alice, soon):
    remember(alice, "I like figs", kind="identity")
    lifetimes.keep(alice.id, [soon.id])

    response = browser.get(f"{EXPIRING}?days=90")

    assert listed(response) == []
    assert "Nothing expires in the next 90 days" in words_of(response)


@pytest.mark.parametrize("kind_days", [7, 30, 90])
def test_as_many_days_are_left_as_are_looked_ahead(browser, alice, kind_days):
    Kind.objects.filter(slug="ticket").update(ttl_days=kind_days)
    memory = remember(alice, "My parcel number is 4711", kind="ticket").memory

    page = browser.get(f"{EXPIRING}?days={kind_days}")

    assert f"{kind_days} days left" in words_of(page)
    assert page.context["count"] == len(listed(page)) == 1
    assert page.context["expiring_count"] == (1 if kind_days == 7 else 0)
    listing = browser.get(reverse("inspector:facts"), {"expires": kind_days})
    assert [row.id for row in listing.context["memories"]] == [memory.id]
    sooner = browser.get(reverse("inspector:facts"), {"expires": kind_days - 1})
    assert sooner.context["memories"] == []
    overview = browser.get(reverse("inspector:overview"))
    assert len(overview.context["expiring"]) == overview.context["expiring_count"] == (kind_days == 7)


def test_where_nothing_ends_soon_the_next_end_is_named(browser, alice):
    ending(alice, "The fair is in spring", days=20)
    ending(alice, "The exam is in spring", days=20)
    ending(alice, "The wedding is in summer", days=200)
    last = last_day(timezone.now() + timedelta(days=20))

    page = browser.get(EXPIRING)
    found = browser.get(f"{reverse('inspector:facts')}?expires={page.context['next_end'].away}&sort=expires")

    assert f"Next: 2 facts on {last.day} {last:%B} {last.year}" in words_of(page)
    assert {row.statement for row in found.context["memories"]} == {
        "The fair is in spring",
        "The exam is in spring",
    }


def test_the_last_day_that_a_fact_can_be_given_leads_to_that_fact_alone(browser, alice):
    wedding = remember(alice, "The wedding is in summer", kind="identity").memory
    remember(alice, "I like figs", kind="identity")
    latest = timezone.now() + timedelta(days=MAX_DAYS)
    lifetimes.end_at(alice.id, [wedding.id], at=date(latest.year, 12, 31))

    away = browser.get(EXPIRING).context["next_end"].away
    found = browser.get(reverse("inspector:facts"), {"expires": away})

    assert away > MAX_DAYS
    assert [row.statement for row in found.context["memories"]] == ["The wedding is in summer"]


def test_where_nothing_ever_ends_no_day_is_named(browser, alice):
    remember(alice, "I like figs", kind="identity")

    assert "Next:" not in words_of(browser.get(EXPIRING))


def test_letting_go_is_explained_where_it_stands(browser, soon):
    assert "“Let go” forgets a fact now instead of on its last day." in words_of(browser.get(EXPIRING))


def test_the_tab_counts_what_expires_within_a_week(browser, soon, later):
    assert browser.get(EXPIRING).context["expiring_count"] == 1


def test_facts_are_grouped_by_the_last_day_on_which_they_are_remembered(db):
    now = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
    midnight = datetime(2026, 11, 30, tzinfo=UTC)
    ends = [midnight + DAY, midnight + 2 * DAY, midnight + 2 * DAY + DAY / 2]
    memories = [Memory(statement=number, said_at=now) for number in ("0", "1", "2")]
    for memory, ends_at in zip(memories, ends, strict=True):
        memory.kind = queries.get_kind("event")
        memory.fades_at = ends_at

    days = overview_presentation.by_day(memories, extended={}, now=now)

    assert [day.name for day in days] == ["Today", "Tomorrow", "Wednesday, 2 December"]
    assert days[0].rows[0].left == "15 hours left"
    assert [[row.statement for row in day.rows] for day in days] == [["0"], ["1"], ["2"]]
    assert days[2].rows[0].left == "2 days left"


@pytest.mark.parametrize(
    ("span", "is_gone"),
    [("extend", False), ("keep", True)],
)
def test_one_is_extended_or_kept_where_it_stands(browser, alice, soon, span, is_gone):
    values = {"span": span, "next": EXPIRING}

    response = browser.post(reverse("inspector:fact_lifetime", args=[soon.id]), values)

    assert response["Location"] == EXPIRING
    assert (listed(browser.get(EXPIRING)) == []) is is_gone
    assert live(alice) == ["The meeting is on Friday"]


def test_one_is_let_go_and_comes_back(browser, alice, soon):
    response = browser.post(reverse("inspector:fact_delete", args=[soon.id]), {"next": EXPIRING})
    [offer] = undoing.taken(response.wsgi_request)

    assert live(alice) == []
    browser.post(offer.url, offer.fields)
    assert live(alice) == ["The meeting is on Friday"]


def test_extending_names_the_day_it_leads_to_and_is_not_offered_where_nothing_moves(browser, alice, soon):
    remember(alice, "My parcel number is 4711", kind="ticket", said_at=NOW - 25 * DAY)
    last = timezone.localdate() + timedelta(days=30)

    page = words_of(browser.get(EXPIRING))

    assert [row.extends_to for day in browser.get(EXPIRING).context["groups"] for row in day.rows] == [
        None,
        last,
    ]
    assert page.count("Extend to") == 1
    assert f"Extend to {last.day} {last:%B} {last.year}" in page
    assert page.count("Keep for ever") == 3


def test_picking_what_cannot_be_extended_says_what_stays(browser, alice, soon):
    browser.post(PICKED, {"action": "extend", "fact": [str(soon.id)]})

    [offer] = browser.session["undo_offers"]
    assert (
        offer["text"] == "1 fact keeps its own date. It was not extended. For longer, set a date on its page."
    )
    assert not offer["url"]


@pytest.mark.parametrize("action", ["keep", "forget"])
def test_those_that_were_picked_are_dealt_with_at_once(browser, alice, soon, later, action):
    ending(alice, "The call is on Monday", days=5)

    response = browser.post(PICKED, {"action": action, "fact": [str(soon.id), str(later.id)]})

    assert response.status_code == 303
    assert listed(browser.get(f"{EXPIRING}?days=90")) == ["The call is on Monday"]


def test_picked_ones_live_their_whole_lifetime_again(browser, alice):
    memory = remember(alice, "The meeting is on Friday", said_at=NOW - 178 * DAY).memory
    before = queries.get_memory(alice.id, memory.id).fades_at

    browser.post(PICKED, {"action": "extend", "fact": [str(memory.id)]})

    assert queries.get_memory(alice.id, memory.id).fades_at >= before + 177 * DAY


@pytest.mark.parametrize(
    "values", [{}, {"action": "keep"}, {"action": "erase", "fact": "x"}, {"action": "keep", "fact": "x"}]
)
def test_a_form_that_says_nothing_changes_nothing(browser, alice, soon, values):
    response = browser.post(PICKED, values)

    assert response.status_code == 303
    assert listed(browser.get(EXPIRING)) == ["The meeting is on Friday"]


def test_what_expired_lately_is_listed_and_brought_back(browser, alice):
    memory = ended(alice, "The parcel comes today")
    [row] = browser.get(EXPIRING).context["over"]
    assert (row.statement, live(alice)) == ("The parcel comes today", [])

    browser.post(
        reverse("inspector:fact_lifetime", args=[memory.id]), {"span": "bring_back", "next": EXPIRING}
    )

    assert live(alice) == ["The parcel comes today"]
    assert browser.get(EXPIRING).context["over"] == []


def test_bob_sees_none_of_it_and_his_form_changes_nothing(browser, bob, alice, soon):
    ended(alice, "The parcel comes today")
    browser.force_login(bob)

    response = browser.get(f"{EXPIRING}?days=90")
    browser.post(PICKED, {"action": "forget", "fact": [str(soon.id)]})

    assert (listed(response), response.context["over"]) == ([], [])
    assert live(alice) == ["The meeting is on Friday"]


def test_strangers_are_asked_to_sign_in(client, db):
    assert client.get(EXPIRING)["Location"].startswith("/accounts/login/")


def test_many_are_paged_and_cost_no_more_queries_than_few(browser, alice):
    def asked():
        with CaptureQueriesContext(connection) as captured:
            response = browser.get(EXPIRING)
        return response, len(captured)

    for number in range(3):
        ending(alice, f"Event {number} takes place", days=1 + number / 10)
    browser.get(EXPIRING)
    _, few = asked()
    for number in range(3, 30):
        ending(alice, f"Event {number} takes place", days=1 + number / 10)

    page, many = asked()

    assert many == few
    rest = browser.get(EXPIRING + page.context["next_url"])
    assert listed(page) + listed(rest) == [f"Event {number} takes place" for number in range(30)]
    assert tallies.expiring_count(alice.id, now=timezone.now(), days=7) == page.context["count"] == 30


def test_what_a_shorter_lifetime_hid_says_so_and_when_and_comes_before_what_ended_by_itself(browser, alice):
    old = remember(alice, "The exam is over", said_at=NOW - 40 * DAY).memory
    ended(alice, "The parcel comes today")
    values = {"ttl_days": 30, "rationale": "A month is enough."}

    kind_changes.change("event", values, changed_by=None, now=timezone.now())
    page = browser.get(EXPIRING)

    hidden, by_itself = page.context["over"]
    assert (hidden.memory_id, hidden.is_hidden, by_itself.is_hidden) == (old.id, True, False)
    assert hidden.at == KindChange.objects.get().applied_at
    assert words_of(page).count("hidden by a shorter lifetime of its kind") == 1


def test_what_had_ended_before_the_lifetime_was_changed_was_not_hidden_by_that(browser, alice):
    remember(alice, "The exam is over", said_at=NOW - 200 * DAY)
    values = {"ttl_days": 30, "rationale": "A month is enough."}

    kind_changes.change("event", values, changed_by=None, now=timezone.now())

    [row] = browser.get(EXPIRING).context["over"]
    assert not row.is_hidden
