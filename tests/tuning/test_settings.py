"""What admins set while Strata runs: on top of the environment, within its ranges, with a way back."""

from datetime import UTC, datetime
from math import inf

import pytest

from memoryapp.conf import Conf, get_conf
from memoryapp.errors import InvalidInputError
from memoryapp.llm.configured import configured
from memoryapp.llm.registry import chat_limits
from memoryapp.policies.reasons import ReasonMissingError
from memoryapp.tuning import operations, queries
from memoryapp.tuning.knobs import KNOBS, TUNABLE, parse, shown
from memoryapp.tuning.models import Setting, SettingChange

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def set_to(by, **values):
    return operations.change(values, by=by, reason="A trial.", now=NOW, seen={})


def test_what_is_set_wins_over_the_default_and_leaves_the_rest(carol):
    set_to(carol, run_max_steps=5, chat_model="small")

    conf = queries.conf()

    assert (conf.run_max_steps, conf.chat_model) == (5, "small")
    assert conf.run_max_seconds == get_conf().run_max_seconds
    assert get_conf().run_max_steps == 16


def test_the_room_of_the_models_is_told(carol):
    set_to(carol, cheap_model="tiny", window_tokens=50_000)

    assert configured().cheap_model == "tiny"
    assert chat_limits().window_tokens == 50_000


def test_what_the_environment_sets_is_fixed(carol, configure):
    set_to(carol, run_max_steps=5)
    configure(STRATA_RUN_MAX_STEPS="9")

    with pytest.raises(operations.SettingsRefusedError) as refusal:
        set_to(carol, run_max_steps=7)

    assert refusal.value.problems == {"run_max_steps": "The environment sets this one. Change it there."}
    assert queries.conf().run_max_steps == 9
    assert queries.fixed() == {"run_max_steps"}


@pytest.mark.parametrize("name", ["secret_key", "database_url", "turn_threads", "no_such_knob"])
def test_what_is_not_on_the_list_is_not_set(carol, name):
    assert name not in TUNABLE
    assert not hasattr(Conf, name) or name not in {knob.name for knob in KNOBS}


def test_all_or_nothing_is_set(carol):
    with pytest.raises(operations.SettingsRefusedError) as refusal:
        set_to(carol, run_max_steps=5, compaction_trigger_share=0.9)

    assert set(refusal.value.problems) == {"compaction_trigger_share"}
    assert not Setting.objects.exists()
    assert not SettingChange.objects.exists()


def test_a_pair_that_holds_together_is_set_together(carol):
    set_to(carol, compaction_trigger_share=0.8, compaction_wait_share=0.95)

    assert queries.conf().compaction_trigger_share == 0.8

    with pytest.raises(operations.SettingsRefusedError):
        set_to(carol, compaction_wait_share=0.7)


@pytest.mark.parametrize("reason", ["", "  ", "\u200b\u200b\u200b", "\u202egnirts", "ok", "x" * 301])
def test_a_change_needs_a_reason(carol, reason):
    with pytest.raises(ReasonMissingError):
        operations.change({"run_max_steps": 5}, by=carol, reason=reason, now=NOW, seen={})

    assert not Setting.objects.exists()


def test_a_change_of_nothing_is_refused(carol):
    with pytest.raises(InvalidInputError, match="as they were"):
        set_to(carol, run_max_steps=16)


def test_what_another_admin_changed_meanwhile_is_not_overwritten(carol):
    set_to(carol, run_max_steps=5)

    with pytest.raises(operations.SettingsRefusedError) as refusal:
        operations.change(
            {"run_max_steps": 7}, by=carol, reason="Another.", now=NOW, seen={"run_max_steps": 16}
        )

    assert "changed it to 5 meanwhile" in refusal.value.problems["run_max_steps"]
    assert queries.conf().run_max_steps == 5


def test_the_default_takes_the_setting_away(carol):
    set_to(carol, run_max_steps=5)

    change = set_to(carol, run_max_steps=16)

    assert not Setting.objects.exists()
    assert (change.before, change.after) == ({"run_max_steps": 5}, {"run_max_steps": None})


def test_a_change_is_undone_whole(carol):
    set_to(carol, run_max_steps=5)
    second = set_to(carol, run_max_steps=7, chat_model="small")

    operations.undo(second.id, by=carol, now=NOW)

    assert queries.conf().run_max_steps == 5
    assert queries.conf().chat_model == get_conf().chat_model
    second.refresh_from_db()
    assert (second.undone_at, second.undone_by) == (NOW, carol)
    # No word of the program's stands before a reason that is kept: pages say it, in their reader's language.
    row = Setting.objects.get()
    assert (row.reason, row.is_undoing) == (second.reason, True)


def test_what_was_changed_again_since_is_not_undone(carol):
    first = set_to(carol, run_max_steps=5)
    set_to(carol, run_max_steps=7)

    with pytest.raises(operations.ChangeNotUndoableError):
        operations.undo(first.id, by=carol, now=NOW)

    assert queries.conf().run_max_steps == 7


def test_an_undone_change_is_not_undone_twice(carol):
    change = set_to(carol, run_max_steps=5)
    operations.undo(change.id, by=carol, now=NOW)

    with pytest.raises(operations.ChangeNotUndoableError):
        operations.undo(change.id, by=carol, now=NOW)


def test_the_table_is_read_once_in_a_while(carol, django_assert_num_queries):
    queries.forget_known()

    with django_assert_num_queries(1):
        for _ in range(40):
            queries.conf()


def test_a_process_learns_what_another_one_set(carol, monkeypatch):
    queries.forget_known()
    queries.conf()
    Setting.objects.create(name="run_max_steps", value=5, changed_at=NOW, reason="Elsewhere.")
    now = queries.time.monotonic()

    before = queries.conf().run_max_steps
    monkeypatch.setattr(queries.time, "monotonic", lambda: now + queries.FRESH_S + 1)

    assert (before, queries.conf().run_max_steps) == (16, 5)


def test_a_row_that_no_longer_holds_is_left_out(carol, configure, caplog):
    set_to(carol, compaction_trigger_share=0.85, run_max_steps=5)
    configure(STRATA_COMPACTION_WAIT_SHARE="0.7")

    conf = queries.conf()

    assert (conf.run_max_steps, conf.compaction_trigger_share) == (5, 0.6)
    assert "compaction_trigger_share" in caplog.text


def test_a_value_that_is_out_of_its_range_by_now_is_left_out(carol):
    Setting.objects.create(name="run_max_steps", value=-1, changed_at=NOW, reason="Old.")
    Setting.objects.create(name="chat_model", value="small", changed_at=NOW, reason="Old.")
    queries.forget_known()

    assert (queries.conf().run_max_steps, queries.conf().chat_model) == (16, "small")


def test_values_are_kept_for_as_long_as_they_are_asked_to_be(django_assert_num_queries, db):
    queries.remember({"run_max_steps": 3}, fresh_s=inf)

    with django_assert_num_queries(0):
        assert queries.conf().run_max_steps == 3


@pytest.mark.parametrize("knob", TUNABLE.values(), ids=lambda knob: knob.name)
def test_every_knob_reads_what_it_shows(knob):
    assert parse(knob, shown(knob, knob.default)) == knob.default
    assert parse(knob, "  ") == knob.default
    assert knob.why.endswith(".")
    assert knob.range or isinstance(knob.default, str)


@pytest.mark.parametrize("written", ["0", "201", "many", "-1", "1e2", "3.5", "٣", "nan", "9" * 30, "1 2"])
def test_what_cannot_be_a_value_says_what_can(written):
    with pytest.raises(InvalidInputError, match=r"Write a whole number from 1 to 200\."):
        parse(TUNABLE["run_max_steps"], written)


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("compaction_trigger_share", "65", 0.65),
        ("compaction_trigger_share", "62.5", 0.625),
        ("run_max_tokens", "1,500,000", 1_500_000),
        ("run_max_usd", "0.05", 0.05),
        ("chat_model", " claude-opus-5 ", "claude-opus-5"),
    ],
)
def test_values_are_read_as_people_write_them(name, written, value):
    assert parse(TUNABLE[name], written) == value


@pytest.mark.parametrize("written", ["two words", "x" * 101, "tab\there"])
def test_a_models_name_is_one_word(written):
    with pytest.raises(InvalidInputError, match="no spaces"):
        parse(TUNABLE["chat_model"], written)
