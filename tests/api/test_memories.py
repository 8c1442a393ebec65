"""Memories over REST."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from memoryapp.activity.models import Entry
from memoryapp.longterm import forgettings, operations, refusals
from memoryapp.longterm.models import Memory
from memoryapp.longterm.operations import Candidate
from memoryapp.policies.trust import Origin
from tests.api.requests import assert_problem, send
from tests.longterm.saying import candidate, message, remember_from
from tests.world import everything_of

TEA = {"statement": "Drinks green tea", "key": "drink.favourite"}


def remember(api, **changes):
    return send(api, "POST", "/memories", {**TEA, **changes})


@pytest.fixture
def memory(api):
    return remember(api).json()


def listed(api, query=""):
    return [item["statement"] for item in send(api, "GET", f"/memories{query}").json()["items"]]


def test_something_new_is_added(api):
    response = remember(api)

    body = response.json()
    assert response.status_code == 201
    assert (body["outcome"], body["met"]) == ("added", None)
    assert (body["statement"], body["kind"], body["key"]) == (
        "Drinks green tea",
        "preference",
        "drink.favourite",
    )
    assert (body["origin"], body["channel"], body["status"], body["version"]) == (
        "user_typed",
        "api",
        "active",
        1,
    )


def test_saying_it_again_reinforces_it(api, memory):
    response = remember(api, statement="drinks GREEN tea.")

    assert response.status_code == 200
    assert response.json()["outcome"] == "reinforced"
    assert response.json()["id"] == response.json()["met"] == memory["id"]
    assert Memory.objects.count() == 1


def test_another_value_for_the_key_supersedes_it(api, memory):
    response = remember(api, statement="Drinks black tea")

    assert response.status_code == 200
    assert (response.json()["outcome"], response.json()["met"]) == ("superseded", memory["id"])
    former = send(api, "GET", f"/memories/{memory['id']}").json()
    assert (former["status"], former["superseded_by"]) == ("superseded", response.json()["id"])
    assert former["valid_to"] is not None
    assert listed(api) == ["Drinks black tea"]


def test_a_kind_that_needs_confirmation_waits(api, memory):
    Memory.objects.get().kind.__class__.objects.filter(slug="decision").update(needs_confirmation=True)

    response = remember(api, statement="Will move to Porto", kind="decision", key="")

    assert response.status_code == 200
    assert response.json()["outcome"] == "pending"
    assert listed(api, "?status=pending") == ["Will move to Porto"]
    assert listed(api) == ["Drinks green tea"]


def test_a_value_becomes_part_of_the_statement(api):
    assert (
        remember(api, statement="Favourite drink", value="tea").json()["statement"] == "Favourite drink: tea"
    )


def test_a_secret_is_refused_and_not_repeated(api):
    secret = "sk-ant-api03-" + "Ab1" * 30

    response = remember(api, statement=f"My key is {secret}")

    assert_problem(response, 422, "secret_refused")
    assert secret not in response.content.decode()
    assert not Memory.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"statement": ""},
        {"statement": " ... "},
        {"statement": "x" * 2_001},
        {"kind": "nonsense"},
        {"kind": ""},
        {"kind": "experience"},
        {"key": "Not A Key!"},
        {"key": "k" * 101},
        {"statement": None},
        {"statement": 5},
        {"value": []},
    ],
    ids=str,
)
def test_what_cannot_be_kept_is_refused_with_a_reason(api, wrong):
    assert_problem(remember(api, **wrong), 422)
    assert not Memory.objects.exists()


def test_a_memory_has_its_version_as_etag(api, memory):
    response = send(api, "GET", f"/memories/{memory['id']}")

    assert response["ETag"] == '"1"'
    assert response.json()["statement"] == "Drinks green tea"


@pytest.mark.parametrize("sent", ['"1"', "1", 'W/"1"'])
def test_an_edit_with_the_version_it_read_is_kept(api, memory, sent):
    response = send(api, "PATCH", f"/memories/{memory['id']}", {"statement": "Drinks tea"}, If_Match=sent)

    assert response.status_code == 200
    assert response["ETag"] == '"2"'
    assert (response.json()["statement"], response.json()["version"]) == ("Drinks tea", 2)


def test_an_edit_without_a_version_is_refused(api, memory):
    refused = send(api, "PATCH", f"/memories/{memory['id']}", {"statement": "Drinks tea"})

    problem = assert_problem(refused, 428, "precondition_required")
    assert "If-Match" in problem["detail"]
    assert listed(api) == ["Drinks green tea"]


def test_an_edit_of_an_older_version_is_refused_and_names_the_current_one(api, memory):
    path = f"/memories/{memory['id']}"
    send(api, "PATCH", path, {"statement": "Drinks tea"}, If_Match='"1"')

    refused = send(api, "PATCH", path, {"statement": "Drinks milk"}, If_Match='"1"')

    assert assert_problem(refused, 412, "stale_version")["version"] == 2
    assert listed(api) == ["Drinks tea"]


@pytest.mark.parametrize("sent", ["*", '"one"', "-1", "1.5", '"1", "2"', "9" * 5_000, "²"])
def test_a_malformed_version_is_refused(api, memory, sent):
    refused = send(api, "PATCH", f"/memories/{memory['id']}", {"statement": "Drinks tea"}, If_Match=sent)

    assert_problem(refused, 422)


@pytest.mark.parametrize(
    "change",
    [{"confidence": 2}, {"confidence": "NaN"}, {"kind": "nonsense"}, {"key": "A B"}, {"statement": " "}],
)
def test_an_edit_that_cannot_be_kept_is_refused(api, memory, change):
    refused = send(api, "PATCH", f"/memories/{memory['id']}", change, If_Match='"1"')

    assert_problem(refused, 422)
    assert send(api, "GET", f"/memories/{memory['id']}").json() == {
        name: value for name, value in memory.items() if name not in {"outcome", "met"}
    }


def test_an_edit_cannot_say_what_another_memory_says(api, memory):
    other = remember(api, statement="Lives in Porto", key="home.city").json()

    refused = send(api, "PATCH", f"/memories/{other['id']}", {"key": "drink.favourite"}, If_Match='"1"')

    assert_problem(refused, 422)


def test_versions_show_what_it_said_before(api, memory):
    path = f"/memories/{memory['id']}"
    send(api, "PATCH", path, {"statement": "Drinks tea", "confidence": 0.5}, If_Match='"1"')

    items = send(api, "GET", f"{path}/versions").json()["items"]

    assert [(item["version"], item["statement"], item["changed_by"]) for item in items] == [
        (2, "Drinks tea", "user"),
        (1, "Drinks green tea", "user"),
    ]


def test_a_forgotten_memory_is_gone(api, memory):
    path = f"/memories/{memory['id']}"

    assert send(api, "DELETE", path).status_code == 204

    assert_problem(send(api, "GET", path), 404)
    assert_problem(send(api, "GET", f"{path}/versions"), 404)
    assert_problem(send(api, "DELETE", path), 404)
    assert listed(api) == []


def test_forgetting_an_older_version_is_refused(api, memory):
    path = f"/memories/{memory['id']}"
    send(api, "PATCH", path, {"statement": "Drinks tea"}, If_Match='"1"')

    assert_problem(send(api, "DELETE", path, If_Match='"1"'), 412, "stale_version")

    assert listed(api) == ["Drinks tea"]


def test_an_unknown_memory_is_404(api):
    assert_problem(send(api, "GET", f"/memories/{uuid4()}"), 404)


def test_the_list_is_filtered_by_kind_key_text_and_origin(api, memory):
    remember(api, statement="Lives in Porto", kind="identity", key="home.city")

    assert listed(api, "?kind=identity") == ["Lives in Porto"]
    assert listed(api, "?key=drink.favourite") == ["Drinks green tea"]
    assert listed(api, "?q=GREEN") == ["Drinks green tea"]
    assert listed(api, "?origin=tool") == []


@pytest.mark.parametrize(("sort", "expected"), [("newest", ["two", "one"]), ("oldest", ["one", "two"])])
def test_the_list_is_sorted(api, sort, expected):
    for statement in ("one", "two"):
        remember(api, statement=statement, key="")

    assert listed(api, f"?sort={sort}") == expected


def test_what_expires_first_is_listed_first_and_what_never_does_not_at_all(api):
    for kind, statement in (("preference", "in a year"), ("event", "in half a year"), ("identity", "never")):
        remember(api, statement=statement, kind=kind, key="")

    assert listed(api, "?sort=expires") == ["in half a year", "in a year"]


def test_the_list_can_ask_what_expires_before_a_date(api):
    for kind, statement in (("preference", "in a year"), ("event", "in half a year")):
        remember(api, statement=statement, kind=kind, key="")
    in_nine_months = (timezone.now() + timedelta(days=270)).strftime("%Y-%m-%dT%H:%M:%SZ")

    assert listed(api, f"?expires_before={in_nine_months}") == ["in half a year"]


def test_an_expired_memory_is_listed_only_when_asked_for(api, alice, memory):
    Memory.objects.update(affirmed_at=timezone.now() - timedelta(days=400))

    assert listed(api) == []
    assert listed(api, "?status=expired") == ["Drinks green tea"]
    assert listed(api, "?status=any") == ["Drinks green tea"]


@pytest.mark.parametrize("query", ["?sort=sideways", "?status=asleep", "?expires_before=soon", "?limit=many"])
def test_an_unknown_filter_is_refused_with_the_known_ones(api, query):
    assert_problem(send(api, "GET", f"/memories{query}"), 422)


def test_search_finds_what_answers_and_says_how(api, memory):
    remember(api, statement="Lives in Porto", key="home.city")

    body = send(api, "POST", "/memories/search", {"query": "Which tea does she drink?"}).json()

    assert body["items"][0]["memory"]["statement"] == "Drinks green tea"
    assert set(body["items"][0]) == {"type", "memory", "arms", "confidence", "score"}


def test_search_finds_nothing_where_nothing_is_known(api):
    assert send(api, "POST", "/memories/search", {"query": "Which tea?"}).json() == {"items": []}


def test_search_never_finds_what_waits_or_is_over(api, alice, memory):
    remember(api, statement="Drinks black tea")
    operations.remember(
        alice.id,
        Candidate(
            kind="preference",
            statement="Drinks poisoned tea",
            origin=Origin.UNTRUSTED,
            channel=Memory.Channel.CHAT,
            said_at=timezone.now(),
        ),
    )

    body = send(api, "POST", "/memories/search", {"query": "tea to drink", "limit": 100}).json()

    assert [item["memory"]["statement"] for item in body["items"]] == ["Drinks black tea"]


def test_search_gives_at_most_what_was_asked_for(api):
    for colour in ("green", "black", "white"):
        remember(api, statement=f"Drinks {colour} tea", key="")

    assert len(send(api, "POST", "/memories/search", {"query": "tea", "limit": 2}).json()["items"]) <= 2


@pytest.mark.parametrize(
    "body",
    [{"query": ""}, {"query": "x" * 2_001}, {"query": "x", "limit": 0}, {"query": "x", "limit": 101}, {}],
)
def test_search_says_what_it_takes(api, body):
    assert_problem(send(api, "POST", "/memories/search", body), 422)


@pytest.mark.parametrize(
    "query", ["'; DROP TABLE longterm_memory; --", "%_\\", "a & b | !c:*", "💥", "()<->"]
)
def test_search_takes_any_text_as_words(api, memory, query):
    assert send(api, "POST", "/memories/search", {"query": query}).status_code == 200


def test_a_wrong_memory_is_out_of_every_list_at_once_and_can_be_brought_back(api, memory):
    path = f"/memories/{memory['id']}"

    wrong = send(api, "POST", f"{path}/feedback", {"verdict": "wrong"})

    assert (wrong.status_code, wrong.json()["status"]) == (200, "superseded")
    assert listed(api) == []
    assert send(api, "POST", f"{path}/feedback", {"verdict": "confirmed"}).json()["status"] == "active"
    assert listed(api) == ["Drinks green tea"]


def test_feedback_can_be_bound_to_the_version_that_was_read(api, memory):
    path = f"/memories/{memory['id']}"
    send(api, "PATCH", path, {"statement": "Drinks tea"}, If_Match='"1"')

    refused = send(api, "POST", f"{path}/feedback", {"verdict": "wrong"}, If_Match='"1"')

    assert_problem(refused, 412, "stale_version")
    assert listed(api) == ["Drinks tea"]


@pytest.mark.parametrize("verdict", ["corrected", "right", "", None, 5])
def test_a_verdict_that_there_is_not_is_refused(api, memory, verdict):
    assert_problem(send(api, "POST", f"/memories/{memory['id']}/feedback", {"verdict": verdict}), 422)


def test_a_program_cannot_confirm_what_waits_for_its_user(api, alice):
    waiting = operations.remember(
        alice.id,
        Candidate(
            kind="preference",
            statement="Trusts ACME",
            origin=Origin.UNTRUSTED,
            channel=Memory.Channel.CHAT,
            said_at=timezone.now(),
        ),
    ).memory

    refused = send(api, "POST", f"/memories/{waiting.id}/feedback", {"verdict": "confirmed"})

    assert_problem(refused, 409, "needs_confirmation")
    assert listed(api) == []


def test_feedback_about_a_turn_that_is_not_ones_own_is_404(api, bob, memory):
    turn = everything_of(bob).turn_id

    for foreign in (turn, uuid4()):
        body = {"verdict": "not_relevant", "turn_id": str(foreign)}
        assert_problem(send(api, "POST", f"/memories/{memory['id']}/feedback", body), 404)


def test_what_a_message_did_is_taken_back_once(api, alice):
    source = message(alice, "I live in Porto")
    learned = remember_from(alice, source, "I live in Porto").memory
    path, body = f"/memories/{learned.id}/withdraw", {"source_message_id": str(source.message_id)}

    withdrawn = send(api, "POST", path, body)

    assert withdrawn.json() == {"outcome": "added", "memory": None}
    assert_problem(send(api, "POST", path, body), 404)
    assert listed(api) == []


def test_taking_back_what_replaced_a_value_answers_with_the_value(api, alice, memory):
    source = message(alice, "I now drink black tea")
    learned = remember_from(
        alice, source, "Drinks black tea", key="drink.favourite", said_at=timezone.now()
    ).memory

    withdrawn = send(
        api, "POST", f"/memories/{learned.id}/withdraw", {"source_message_id": str(source.message_id)}
    )

    assert withdrawn.json()["outcome"] == "superseded"
    assert withdrawn.json()["memory"]["id"] == memory["id"]
    assert listed(api) == ["Drinks green tea"]


def test_a_former_value_is_in_use_again_by_a_persons_word(api, memory):
    coffee = remember(api, statement="Drinks coffee").json()

    back = send(api, "POST", f"/memories/{memory['id']}/feedback", {"verdict": "confirmed"}).json()

    assert (back["status"], back["superseded_by"]) == ("active", None)
    assert listed(api) == ["Drinks green tea"]
    assert send(api, "GET", f"/memories/{coffee['id']}").json()["superseded_by"] == memory["id"]


def test_what_its_person_confirmed_since_is_not_taken_back(api, alice):
    source = message(alice, "I drink black tea")
    learned = remember_from(alice, source, "I drink black tea", said_at=timezone.now()).memory
    send(api, "POST", f"/memories/{learned.id}/feedback", {"verdict": "confirmed"})

    refused = send(
        api, "POST", f"/memories/{learned.id}/withdraw", {"source_message_id": str(source.message_id)}
    )

    assert_problem(refused, 409, "has_persons_word")
    assert listed(api) == ["I drink black tea"]


def test_what_a_message_did_not_do_is_409(api, memory):
    refused = send(api, "POST", f"/memories/{memory['id']}/withdraw", {"source_message_id": str(uuid4())})

    assert_problem(refused, 409, "nothing_to_withdraw")


def test_the_quota_is_shown_with_its_limits(api, memory):
    assert send(api, "GET", "/memories/quota").json() == {
        "used": 1,
        "limit": 20_000,
        "waiting": 0,
        "pending_today": 0,
        "pending_limit": 50,
        "statement_max_chars": 2_000,
        "memories_per_turn": 20,
    }


def test_the_list_of_a_moment_has_what_was_known_then_in_the_words_of_then(api, memory):
    moment = timezone.now().isoformat().replace("+", "%2B")
    send(api, "PATCH", f"/memories/{memory['id']}", {"statement": "Drinks milk"}, If_Match='"1"')
    remember(api, statement="Drinks water")

    (then,) = send(api, "GET", f"/memories?as_of={moment}").json()["items"]

    assert (then["statement"], then["status"], then["superseded_by"]) == ("Drinks green tea", "active", None)
    assert listed(api) == ["Drinks water"]
    assert listed(api, "?as_of=2020-01-01T00:00:00Z") == []


@pytest.mark.parametrize("moment", ["yesterday", "2026-03-01T12:00:00", "2026-13-01T00:00:00Z"])
def test_a_moment_needs_a_date_and_a_zone(api, moment):
    assert_problem(send(api, "GET", f"/memories?as_of={moment}"), 422)


TOMORROW = (timezone.now() + timedelta(days=1)).replace(microsecond=0)


def change(api, memory, **changes):
    version = f'"{memory["version"]}"'
    return send(api, "PATCH", f"/memories/{memory['id']}", changes, If_Match=version)


def test_how_long_it_lives_is_changed_without_a_new_version(api, memory):
    kept = change(api, memory, is_kept=True).json()
    dated = change(api, memory, expires_at=TOMORROW.isoformat()).json()
    as_its_kind = change(api, memory, expires_at=None).json()

    assert (kept["is_kept"], kept["expires_at"]) == (True, None)
    assert (dated["is_kept"], dated["expires_at"]) == (False, TOMORROW.isoformat().replace("+00:00", "Z"))
    assert (as_its_kind["is_kept"], as_its_kind["expires_at"]) == (False, memory["expires_at"])
    assert {body["version"] for body in (kept, dated, as_its_kind)} == {1}


def test_it_is_affirmed_so_that_its_lifetime_starts_again(api, memory):
    Memory.objects.update(affirmed_at=timezone.now() - timedelta(days=20))

    assert change(api, memory, affirm=True).json()["expires_at"] == memory["expires_at"]


def test_affirming_what_does_not_live_longer_by_it_changes_nothing_and_is_not_noted(api, memory):
    change(api, memory, is_kept=True)
    Memory.objects.update(affirmed_at=timezone.now() - timedelta(days=20))
    before = api.get(f"/api/v1/memories/{memory['id']}").json()
    noted = Entry.objects.count()

    affirmed = change(api, memory, affirm=True).json()
    again = change(api, memory, is_kept=True).json()

    assert affirmed == again == before
    assert Entry.objects.count() == noted


def test_words_and_lifetime_are_changed_in_one_request(api, memory):
    changed = change(api, memory, statement="Drinks white tea", is_kept=True).json()

    assert (changed["statement"], changed["is_kept"], changed["version"]) == ("Drinks white tea", True, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"expires_at": "2020-01-01T00:00:00Z"},
        {"expires_at": "2999-01-01T00:00:00Z"},
        {"expires_at": "2030-01-01T00:00:00"},
        {"expires_at": TOMORROW.isoformat(), "is_kept": True},
        {"is_kept": "perhaps"},
    ],
    ids=lambda wrong: " ".join(str(value)[:4] for value in wrong.values()),
)
def test_a_lifetime_that_cannot_be_is_refused_with_all_that_came_with_it(api, memory, wrong):
    assert_problem(change(api, memory, statement="Drinks white tea", **wrong), 422)

    assert listed(api) == ["Drinks green tea"]


def test_a_lifetime_of_an_older_version_and_of_anothers_memory_is_refused(api, bob, memory):
    others = operations.remember(bob.id, candidate("Drinks coffee")).memory

    assert_problem(change(api, {**memory, "version": 7}, is_kept=True), 412, "stale_version")
    assert_problem(change(api, {"id": others.id, "version": 1}, is_kept=True), 404, "not_found")


def test_what_its_person_does_not_want_remembered_is_409(api, alice):
    refusals.refuse(alice.id, "preference")
    assert_problem(remember(api), 409, "kind_refused")

    refusals.allow(alice.id, "preference")
    type(alice).objects.update(save_memory=False)
    assert_problem(remember(api), 409, "saving_paused")


def test_what_is_being_forgotten_is_not_there(api, alice, memory):
    forgettings.forget(alice.id, [memory["id"]], now=timezone.now())

    assert listed(api, "?status=any") == []
    for path in (f"/memories/{memory['id']}", f"/memories/{memory['id']}/versions"):
        assert_problem(send(api, "GET", path), 404, "not_found")
    assert_problem(send(api, "DELETE", f"/memories/{memory['id']}"), 404, "not_found")


def test_while_saving_is_paused_no_words_come_in_by_a_correction(api, alice, memory):
    type(alice).objects.filter(id=alice.id).update(save_memory=False)

    refused = send(api, "PATCH", f"/memories/{memory['id']}", {"statement": "Drinks tea"}, If_Match='"1"')

    assert_problem(refused, 409, "saving_paused")
    assert listed(api) == ["Drinks green tea"]
