"""What a person may do to a pad: pure, idempotent, bounded, noted, and theirs alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.activity import queries as activity
from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.policies.limits import Limits
from memoryapp.policies.secrets import SecretRefusedError
from memoryapp.scratchpad import edits
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import pad as pads
from memoryapp.scratchpad.models import PadEdit, Run
from memoryapp.scratchpad.operations import FencedOffError
from memoryapp.scratchpad.pad import CORRECTED, FACTS_MAX, Edit, Fact, Failure, Op, Pad
from tests.inspector.working import Working

pytestmark = pytest.mark.usefixtures("nudges")

PAD = Pad(
    goal="Plan the trip",
    facts=(Fact("price", "90 EUR", "fetch_page"), Fact("room", "double", "fetch_page")),
    todo=("Book the hotel", "Rent a car"),
    failed=(Failure('fetch {"q": 1}', "timed out"),),
    open_questions=("Which month?",),
)
words = st.sampled_from(["price", "Book the hotel", 'fetch {"q": 1}', "Which month?", "else"])
some_edits = st.lists(st.builds(Edit, st.sampled_from(Op), words, words), max_size=8)


@given(some_edits)
def test_applying_the_same_edits_again_changes_nothing(some):
    once = pads.apply(PAD, some)

    # Word for word; the last word on an entry is what counts, whichever came before.
    assert pads.apply(once, some[-1:]) == once


@given(some_edits)
def test_what_is_rendered_can_be_read_back(some):
    edited = pads.apply(PAD, some)

    assert pads.read(pads.render(edited, max_tokens=100_000)) == edited


def test_a_pad_kept_before_there_were_edits_is_read(alice):
    old = {name: part for name, part in PAD.to_json().items() if name not in ("struck", "may_retry")}

    assert pads.from_json(old) == PAD


def test_of_too_many_facts_those_of_the_person_stay(alice):
    pad = pads.apply(PAD, [Edit(Op.CORRECT_FACT, "price", "80 EUR")])
    for number in range(FACTS_MAX + 5):
        pad = pad.with_fact(Fact(f"page {number}", "read", "fetch_page"))

    assert len(pad.facts) == FACTS_MAX
    assert pad.facts[-1] == Fact("price", "80 EUR", CORRECTED)


def test_of_a_pad_that_outgrew_its_share_the_corrections_go_last():
    pad = pads.apply(PAD, [Edit(Op.CORRECT_FACT, "price", "80 EUR")])
    for number in range(FACTS_MAX - 5):
        pad = pad.with_fact(Fact(f"page {number}", "read " * 20, "fetch_page"))

    rendered = pads.render(pad, max_tokens=300)

    assert "80 EUR" in rendered


class TestWriting:
    @pytest.fixture
    def run(self, alice) -> Run:
        at_work = Working(alice)
        at_work.step(pad=PAD)
        return at_work.run

    def test_each_is_noted_without_its_words(self, alice, run):
        edits.edit(alice.id, run.id, Edit(Op.STRIKE_TODO, "Rent a car"))

        entry = activity.entries_about(alice.id, run.id).get()
        assert (entry.verb, entry.tier, entry.detail) == ("edited", "scratchpad", "strike_todo")

    def test_the_same_sent_twice_is_one(self, alice, run):
        first = edits.edit(alice.id, run.id, Edit(Op.ADD_TODO, text="Ask"))
        second = edits.edit(alice.id, run.id, Edit(Op.ADD_TODO, text=" Ask "))

        assert (first.id, PadEdit.objects.count()) == (second.id, 1)

    @pytest.mark.parametrize(
        "change",
        [
            Edit(Op.ADD_TODO, text=" \n"),
            Edit(Op.ADD_TODO, text="x" * 301),
            Edit(Op.ADD_FACT, "", "May"),
            Edit(Op.ADD_FACT, "x" * 201, "May"),
            Edit(Op.ADD_FACT, "price", "80 EUR"),
        ],
        ids=["empty", "long", "nameless", "long name", "known name"],
    )
    def test_what_cannot_be_kept_is_refused_with_the_reason(self, alice, run, change):
        with pytest.raises(InvalidInputError):
            edits.edit(alice.id, run.id, change)

        assert not PadEdit.objects.exists()

    def test_secrets_are_refused(self, alice, run):
        with pytest.raises(SecretRefusedError):
            edits.edit(alice.id, run.id, Edit(Op.ADD_FACT, "wifi password", "password: tr0ub4dor&3x"))

    def test_a_run_takes_a_hundred_and_no_more(self, alice, run, monkeypatch):
        monkeypatch.setattr(edits, "EDITS_MAX", 2)
        for number in range(2):
            edits.edit(alice.id, run.id, Edit(Op.ADD_TODO, text=f"Ask {number}"))

        with pytest.raises(InvalidInputError, match="up to 2 edits"):
            edits.edit(alice.id, run.id, Edit(Op.ADD_TODO, text="Ask again"))

    def test_bob_edits_none_of_alices(self, bob, run):
        with pytest.raises(NotFoundError):
            edits.edit(bob.id, run.id, Edit(Op.ADD_TODO, text="Ask"))

    def test_a_worker_that_lost_its_turn_takes_nothing_up(self, alice, run):
        edits.edit(alice.id, run.id, Edit(Op.ADD_TODO, text="Ask"))
        scratchpad.open_run(user_id=alice.id, turn_id=run.turn_id, goal="Plan the trip", attempt=9)

        with pytest.raises(FencedOffError):
            edits.take_up(run, PAD, attempt=run.attempt)

        assert PadEdit.objects.get().applied_at is None

    def test_what_a_worker_writes_meanwhile_loses_to_the_edit(self, alice, run):
        edits.edit(alice.id, run.id, Edit(Op.CORRECT_FACT, "price", "80 EUR"))
        newer = PAD.with_fact(Fact("price", "95 EUR", "fetch_page"))

        taken = edits.take_up(run, newer, attempt=run.attempt)

        assert Fact("price", "80 EUR", CORRECTED) in taken.facts
        run.refresh_from_db()
        assert pads.from_json(run.pad) == taken

    def test_a_run_that_starts_over_starts_with_them(self, alice):
        run = Working(alice).run
        edits.edit(alice.id, run.id, Edit(Op.ADD_TODO, text="Ask"))
        edits.take_up(run, pads.from_json(run.pad), attempt=run.attempt)

        scratchpad.go_on(run, attempt=run.attempt, limits=Limits(model_calls=1, tokens=1, seconds=1))

        assert PadEdit.objects.get().applied_at is None

    def test_a_run_that_a_forgetting_overtook_starts_without_them(self, alice):
        run = Working(alice).run
        edits.edit(alice.id, run.id, Edit(Op.ADD_TODO, text="Ask"))
        type(alice).objects.update(memory_epoch=alice.memory_epoch + 1)

        scratchpad.open_run(user_id=alice.id, turn_id=run.turn_id, goal="Plan the trip", attempt=run.attempt)

        assert not PadEdit.objects.exists()
