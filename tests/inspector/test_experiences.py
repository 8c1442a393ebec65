"""The pages of the experiences: what is listed, read, judged, confirmed and forgotten, and by whom."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.activity.models import Entry
from memoryapp.context.models import Use
from memoryapp.longterm import experience_queries, experiences
from memoryapp.longterm.experiences import Lesson
from memoryapp.longterm.models import Experience, Kind
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad.models import Run
from tests.inspector.reading import words_of
from tests.turns import post

EXPERIENCES = reverse("inspector:experiences")


def learn(user, goal: str = "Sum up the invoices", **values) -> Experience:
    turn = post(user, goal)
    run = scratchpad.open_run(user_id=user.id, turn_id=turn.id, goal=goal, attempt=1)
    scratchpad.close_run(turn.id, attempt=1, status=Run.Status.COMPLETED)
    lesson = Lesson(
        **{
            "goal": goal,
            "tools": ("calculate", "recall"),
            "worked": "recall(query: invoices)\ncalculate(expression: 1 + 2)",
            "avoid": "calculate(expression: 1 plus 2): not a number",
            "origin": Origin.TOOL,
            **values,
        }
    )
    learned = experiences.record(
        user.id, lesson, run_id=run.id, epoch_at_start=user.memory_epoch, now=timezone.now()
    )
    assert learned
    return learned


def page_of(experience: Experience) -> str:
    return reverse("inspector:experience", args=[experience.id])


def now(experience: Experience) -> Experience:
    return experience_queries.get(experience.user_id, experience.id)


def test_a_lesson_is_extended_to_the_day_that_its_button_names_and_no_further(browser, alice):
    experience = learn(alice)
    Experience.objects.filter(id=experience.id).update(affirmed_at=timezone.now() - timedelta(days=20))
    ends = now(experience).fades_at
    last = timezone.localdate(ends) + timedelta(days=19)
    Entry.objects.all().delete()

    shown = words_of(browser.get(page_of(experience)))
    first = words_of(browser.post(f"{page_of(experience)}extend", follow=True))
    second = words_of(browser.post(f"{page_of(experience)}extend", follow=True))

    day = f"{last.day} {last:%B} {last.year}"
    assert f"Extend to {day}" in shown
    assert f"Extended: expires {day} now." in first
    assert "Extend to" not in first
    assert f"Nothing was extended: expires {day}." in second
    assert list(Entry.objects.values_list("verb", "subject_id")) == [("lifetime", experience.id)]


def test_nobody_extends_the_lesson_of_another(client, alice, bob):
    experience = learn(alice)
    Experience.objects.filter(id=experience.id).update(affirmed_at=timezone.now() - timedelta(days=20))
    client.force_login(bob)

    assert client.post(f"{page_of(experience)}extend").status_code == 404
    assert now(experience).affirmed_at < timezone.now() - timedelta(days=19)


def test_without_any_the_page_says_how_they_come_about(browser):
    response = browser.get(EXPERIENCES)

    assert "No experiences yet" in words_of(response)


def test_the_list_shows_what_each_is_worth(browser, alice):
    experience = learn(alice)
    experiences.note_given(alice.id, [experience.id])

    shown = words_of(browser.get(EXPERIENCES))

    assert "Sum up the invoices Solved with calculate, recall learned" in shown
    assert "60 % sure given 1 time expires" in shown


def test_those_that_wait_or_rest_are_listed_and_say_so(browser, alice):
    learn(alice, "From a page", origin=Origin.UNTRUSTED)
    resting = learn(alice, "Of no use")
    Experience.objects.filter(id=resting.id).update(confidence=0.2)

    rows = browser.get(EXPERIENCES).context["experiences"]

    assert [(row.goal, row.state) for row in rows] == [("Of no use", "unsure"), ("From a page", "waits")]


def test_the_list_is_paged_without_gaps_or_repeats(browser, alice):
    for number in range(60):
        learn(alice, f"Goal {number}")

    seen, url = [], EXPERIENCES
    while url:
        response = browser.get(url)
        seen += [row.goal for row in response.context["experiences"]]
        url = response.context["next_url"] and EXPERIENCES + response.context["next_url"]

    assert seen == [f"Goal {number}" for number in reversed(range(60))]


class TestNarrowing:
    def found(self, browser, **filters):
        return {row.goal for row in browser.get(EXPERIENCES, filters).context["experiences"]}

    @pytest.fixture
    def four(self, alice):
        learn(alice, "Sum up the invoices")
        learn(alice, "Book a table", outcome=Experience.Outcome.FAILED, worked="", avoid="Calling at noon")
        learn(alice, "Read a page", origin=Origin.UNTRUSTED)
        resting = learn(alice, "Guess a number")
        Experience.objects.filter(id=resting.id).update(confidence=0.2)

    @pytest.mark.usefixtures("four")
    @pytest.mark.parametrize(
        ("filters", "goals"),
        [
            ({"outcome": "failed"}, {"Book a table"}),
            ({"state": "used"}, {"Sum up the invoices", "Book a table"}),
            ({"state": "waits"}, {"Read a page"}),
            ({"state": "unsure"}, {"Guess a number"}),
            ({"q": "UP THE INVOICES", "state": "used"}, {"Sum up the invoices"}),
            ({"q": "at noon"}, {"Book a table"}),
            ({"q": "at noon", "outcome": "succeeded"}, set()),
        ],
    )
    def test_by_outcome_by_what_people_said_and_by_words(self, browser, filters, goals):
        assert self.found(browser, **filters) == goals

    @pytest.mark.usefixtures("four")
    def test_a_state_is_the_one_that_rows_say(self, browser):
        for state in ("used", "waits", "unsure"):
            rows = browser.get(EXPERIENCES, {"state": state}).context["experiences"]
            assert {row.state for row in rows} == {state}

    @pytest.mark.usefixtures("four")
    def test_what_cannot_be_asked_for_is_left_out(self, browser):
        assert len(self.found(browser, outcome="burnt", state="odd", q="\x00")) == 4

    def test_pages_keep_the_filters(self, browser, alice, monkeypatch):
        monkeypatch.setattr("memoryapp.inspector.runs.experience_views.PAGE", 1)
        for goal in ("Trip one", "Poem", "Trip two"):
            learn(alice, goal)

        first = browser.get(EXPERIENCES, {"q": "trip", "outcome": "succeeded"}).context
        second = browser.get(EXPERIENCES + first["next_url"]).context

        assert [page["experiences"][0].goal for page in (first, second)] == ["Trip two", "Trip one"]
        assert second["next_url"] == ""

    def test_no_match_is_told_apart_from_none_at_all(self, browser, alice):
        learn(alice)

        shown = words_of(browser.get(EXPERIENCES, {"q": "walnuts"}))

        assert "No experience matches" in shown
        assert "No experiences yet" not in shown

    @pytest.mark.usefixtures("four")
    def test_bob_finds_none_of_alices(self, client, bob):
        client.force_login(bob)

        assert self.found(client, q="i") == set()

    def test_more_experiences_take_no_more_queries(self, browser, alice, django_assert_num_queries):
        for number in range(3):
            learn(alice, f"Goal {number}")
        with CaptureQueriesContext(connection) as with_three:
            browser.get(EXPERIENCES, {"q": "goal"})
        for number in range(3, 30):
            learn(alice, f"Goal {number}")

        with django_assert_num_queries(len(with_three)):
            browser.get(EXPERIENCES, {"q": "goal"})


def test_one_is_shown_with_its_lesson_its_rule_and_its_run(browser, alice):
    experience = learn(alice)

    response = browser.get(page_of(experience))

    shown = words_of(response)
    for words in (
        "recall(query: invoices)",
        "calculate(expression: 1 plus 2): not a number",
        "A tool found",
        "without a model",
        experience.kind.rationale,
    ):
        assert words in shown
    run_url = response.context["experience"].run_url
    assert f'href="{run_url}"' in response.content.decode()
    assert browser.get(run_url).status_code == 200


def test_it_outlives_the_record_of_its_run(browser, alice):
    experience = learn(alice, model="claude-haiku-5-5")
    Run.objects.all().delete()

    shown = words_of(browser.get(page_of(experience)))

    assert "The record of the run that taught it is gone" in shown
    assert "Put into words by claude-haiku-5-5" in shown


@pytest.mark.parametrize(("said", "percent"), [("yes", 70), ("no", 36)])
def test_a_persons_word_moves_its_confidence(browser, alice, said, percent):
    experience = learn(alice)

    response = browser.post(f"{page_of(experience)}feedback", {"helped": said}, follow=True)

    assert response.redirect_chain == [(page_of(experience), 302)]
    assert round(now(experience).confidence * 100) == percent
    assert f"Noted: {percent} % sure now." in words_of(response)


def test_the_last_no_says_that_it_is_not_given_any_more(browser, alice):
    experience = learn(alice)
    Experience.objects.update(confidence=0.4)

    response = browser.post(f"{page_of(experience)}feedback", {"helped": "no"}, follow=True)

    assert "It is not given to tasks any more." in words_of(response)
    assert "Not given any more" in words_of(response)


def test_what_waits_is_confirmed_by_a_yes_on_its_page(browser, alice):
    experience = learn(alice, origin=Origin.UNTRUSTED)
    assert "Nothing uses what it taught until you say so." in words_of(browser.get(page_of(experience)))

    browser.post(f"{page_of(experience)}feedback", {"helped": "yes"})

    assert not now(experience).waits


def test_a_no_to_what_waits_confirms_nothing(browser, alice):
    experience = learn(alice, origin=Origin.UNTRUSTED)

    browser.post(f"{page_of(experience)}feedback", {"helped": "no"})

    assert now(experience).waits


@pytest.mark.parametrize("body", [{}, {"helped": "maybe"}])
def test_a_form_without_an_answer_is_refused(browser, alice, body):
    experience = learn(alice)

    response = browser.post(f"{page_of(experience)}feedback", body)

    assert response.status_code == 422
    assert now(experience).confidence == 0.6


def test_forgetting_removes_it_and_its_page(browser, alice):
    experience = learn(alice)

    response = browser.post(f"{page_of(experience)}forget")

    assert response["Location"] == EXPERIENCES
    assert browser.get(page_of(experience)).status_code == 404
    assert not Run.objects.filter(id=experience.source_run_id).exists()


@pytest.mark.parametrize("action", ["", "feedback", "forget"])
def test_another_persons_does_not_exist(client, alice, bob, action):
    experience = learn(alice)
    client.force_login(bob)
    url = page_of(experience) + action

    response = client.post(url, {"helped": "yes"}) if action else client.get(url)

    assert response.status_code == 404
    assert now(experience).confidence == 0.6


@pytest.mark.parametrize("action", ["", "feedback", "forget"])
def test_strangers_are_asked_to_sign_in(client, alice, action):
    experience = learn(alice)

    response = client.post(page_of(experience) + action) if action else client.get(page_of(experience))

    assert response["Location"].startswith("/accounts/login/")
    assert now(experience)


def test_an_unknown_and_a_faded_one_are_pages_that_say_so(browser, alice):
    faded = learn(alice)
    Experience.objects.update(affirmed_at=timezone.now() - timedelta(days=20))
    Kind.objects.filter(slug="experience").update(ttl_days=7)

    assert browser.get(reverse("inspector:experience", args=[uuid4()])).status_code == 404
    assert browser.get(page_of(faded)).status_code == 404
    assert browser.get(EXPERIENCES).context["experiences"] == []


class TestCorrecting:
    def edit(self, browser, experience, **form):
        seen = experiences.words_digest(now(experience))
        address = reverse("inspector:experience_edit", args=[experience.id])
        return browser.post(address, {"seen": seen, "worked": "", "avoid": "", **form})

    def test_a_persons_words_take_the_place_of_the_lessons(self, browser, alice):
        experience = learn(alice)

        answer = self.edit(browser, experience, worked="Ask for the list first.", avoid="Guessing")

        corrected = now(experience)
        assert answer["Location"] == page_of(experience)
        assert (corrected.worked, corrected.avoid) == ("Ask for the list first.", "Guessing")
        assert "You put it into words." in words_of(browser.get(page_of(experience)))

    def test_the_form_has_an_address_and_holds_the_words(self, browser, alice):
        experience = learn(alice)

        shown = browser.get(page_of(experience), {"edit": "lesson"})

        assert shown.context["form"].worked == experience.worked

    def test_what_changed_meanwhile_is_shown_beside_what_was_written(self, browser, alice):
        experience = learn(alice)

        answer = self.edit(browser, experience, seen="old", worked="Mine")

        assert answer.status_code == 409
        assert "This lesson changed since you opened it." in words_of(answer)
        assert (answer.context["form"].worked, now(experience).worked) == ("Mine", experience.worked)

    @pytest.mark.parametrize(
        ("worked", "why"),
        [
            ("", "Say what worked"),
            ("x" * 301, "at most 300 characters"),
            ("password: tr0ub4dor&3x", "Secrets are not kept"),
        ],
    )
    def test_what_cannot_be_kept_is_refused_with_the_reason(self, browser, alice, worked, why):
        experience = learn(alice)

        answer = self.edit(browser, experience, worked=worked)

        assert answer.status_code == 422
        assert why in words_of(answer)

    def test_correcting_is_not_confirming(self, browser, alice):
        experience = learn(alice, origin=Origin.UNTRUSTED)

        self.edit(browser, experience, worked="Ask first.")

        assert now(experience).waits

    def test_bob_corrects_none_of_alices(self, client, alice, bob):
        experience = learn(alice)
        client.force_login(bob)

        assert self.edit(client, experience, worked="Mine").status_code == 404


def test_forgetting_one_can_be_undone(browser, alice):
    experience = learn(alice)

    browser.post(reverse("inspector:experience_forget", args=[experience.id]))
    listed = words_of(browser.get(EXPERIENCES))
    forgotten = Experience.everything.get(id=experience.id).forgetting
    browser.post(reverse("inspector:forgetting_undo", args=[forgotten.id]))

    assert "Undo" in listed
    assert now(experience).id == experience.id


def test_the_replies_that_were_given_it_are_listed(browser, alice):
    experience = learn(alice)
    turn = post(alice, "Sum up once more")
    Use.objects.create(
        user=alice, turn=turn, experience=experience, rank=1, score=0.5, used_at=timezone.now()
    )

    assert reverse("chat:turn", args=[turn.id]) in browser.get(page_of(experience)).content.decode()
