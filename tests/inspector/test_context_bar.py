"""The next prompt as a bar: in proportion, with its thresholds, and each section with its text on demand."""

import re

import pytest
from django.urls import reverse

from memoryapp.context.models import ContextSnapshot
from memoryapp.context.preview import NextPrompt, Part, PreviewSection
from memoryapp.inspector.context_bar import TEXT_MAX_CHARS, bar_of_next, call_row, section_text
from memoryapp.scratchpad.models import Run
from memoryapp.transcript.models import Turn
from tests.inspector.reading import words_of
from tests.talking import say
from tests.turns import start
from tests.world import everything_of

SIZES = {"system": 1_200, "pinned": 100, "summary": 1_500, "transcript": 3_000, "scratchpad": 800}


def prompt(**changes) -> NextPrompt:
    """A window of 20,000 tokens, of which a prompt may hold 16,000."""
    told = {
        "window_tokens": 20_000,
        "reserve_output_tokens": 4_000,
        "input_tokens": 16_000,
        "used_tokens": 5_800,
        "trigger_tokens": 9_600,
        "wait_tokens": 14_400,
        "cut_turns": 0,
        "sections": [
            PreviewSection(name, tokens, is_cached=name != "scratchpad", parts=())
            for name, tokens in SIZES.items()
        ],
    }
    return NextPrompt(**(told | changes))


@pytest.fixture
def conversation(alice):
    conversation = start(alice, title="Figs")
    say(conversation, "I like figs & dates.", "So do I.")
    conversation.refresh_from_db()
    return conversation


def context_of(conversation, query: str = "") -> str:
    return reverse("chat:context", args=[conversation.id]) + query


def test_sections_stand_side_by_side_in_proportion_to_the_window():
    bar = bar_of_next(prompt())

    assert [(segment.name, segment.x, segment.width) for segment in bar.segments] == [
        ("system", "0.00%", "6.00%"),
        ("pinned", "6.00%", "0.50%"),
        ("summary", "6.50%", "7.50%"),
        ("transcript", "14.00%", "15.00%"),
        ("scratchpad", "76.00%", "4.00%"),
    ]
    assert (bar.reserve.x, bar.reserve.width) == ("80.00%", "20.00%")
    assert [(mark.name, mark.x) for mark in bar.marks] == [("trigger", "48.00%"), ("wait", "72.00%")]


def test_what_is_used_and_what_is_free_are_of_what_a_prompt_may_hold():
    bar = bar_of_next(prompt())

    assert bar.percent == 36
    assert bar.free_tokens == 16_000 - 5_800 - 800


def test_a_prompt_that_is_too_full_stays_within_the_bar():
    sections = [PreviewSection("transcript", 50_000, is_cached=True, parts=())]

    bar = bar_of_next(prompt(used_tokens=50_000, sections=sections))

    assert [(segment.x, segment.width) for segment in bar.segments] == [("0.00%", "100.00%")]
    assert (bar.percent, bar.free_tokens) == (312, 0)


def test_of_a_section_too_long_for_a_page_the_newest_parts_are_shown():
    parts = [Part(f"Turn {number}", "x" * (TEXT_MAX_CHARS // 2)) for number in range(5)]
    long = prompt(sections=[PreviewSection("transcript", 9, is_cached=True, parts=parts)])

    found = section_text(long, "transcript")

    assert [part.label for part in found.parts] == ["Turn 3", "Turn 4"]
    assert found.hidden == 3
    assert section_text(long, "no-such-section") is None


def test_one_part_that_is_too_long_is_shown_all_the_same():
    part = Part("Turn 1", "x" * (2 * TEXT_MAX_CHARS))
    long = prompt(sections=[PreviewSection("summary", 9, is_cached=True, parts=[part])])

    assert section_text(long, "summary").parts == [part]


def test_the_page_says_how_full_the_prompt_is_and_when_it_is_summarised(browser, conversation, monkeypatch):
    monkeypatch.setattr("chat.context_views.next_prompt", lambda _conversation, **_tools: prompt())

    words = words_of(browser.get(context_of(conversation)))

    assert "5,800 of 16,000 tokens · summarised at 9,600" in words
    assert "A reply waits for the summary: 14,400" in words
    assert "Summary 1,500 8 %" in words
    assert "Kept free for the reply 4,000 20 %" in words


def test_messages_that_find_no_room_are_counted(browser, conversation, monkeypatch):
    monkeypatch.setattr("chat.context_views.next_prompt", lambda _conversation, **_tools: prompt(cut_turns=3))

    assert "3 older messages find no room in the prompt" in words_of(browser.get(context_of(conversation)))


def test_with_scripts_only_the_bar_comes_and_a_section_when_it_is_opened(browser, conversation):
    bar = browser.get(context_of(conversation), HTTP_HX_REQUEST="true").content.decode()
    opened = browser.get(context_of(conversation, "?section=transcript"), HTTP_HX_REQUEST="true")

    assert "<html" not in bar
    assert re.search(r"Context\s+\d+ %", bar)
    assert "figs" not in bar
    assert "I like figs &amp; dates." in opened.content.decode()
    assert "<svg" not in opened.content.decode()


def test_without_scripts_a_section_opens_by_its_link(browser, conversation):
    page = browser.get(context_of(conversation)).content.decode()
    opened = browser.get(context_of(conversation, "?section=transcript"))

    assert f'href="{context_of(conversation)}?section=transcript"' in page
    assert "I like figs &amp; dates." in opened.content.decode()


def test_the_bar_is_drawn_without_inline_styles(browser, conversation):
    assert " style=" not in browser.get(context_of(conversation)).content.decode()


@pytest.mark.parametrize("name", ["inspector:conversation", "chat:conversation"])
def test_pages_of_a_conversation_lead_to_its_context(browser, conversation, name):
    shown = browser.get(reverse(name, args=[conversation.id])).content.decode()

    assert f'hx-get="{context_of(conversation)}"' in shown
    assert f'href="{context_of(conversation)}"' in shown


@pytest.mark.parametrize("query", ["", "?section=transcript"])
def test_another_persons_context_does_not_exist(client, bob, conversation, query):
    client.force_login(bob)

    assert client.get(context_of(conversation, query)).status_code == 404
    assert client.get(context_of(conversation, query), HTTP_HX_REQUEST="true").status_code == 404


def test_a_call_says_how_much_of_its_prompt_the_one_before_had_too():
    call = ContextSnapshot(
        call=2,
        estimated_input_tokens=900,
        reported_input_tokens=1_000,
        prefix_tokens=750,
        chain=[["a", 500], ["b", 250], ["c", 250]],
    )

    row = call_row(call)

    assert (row.estimated_tokens, row.counted_tokens, row.reported_tokens) == (900, None, 1_000)
    assert row.prefix_percent == 75


def test_a_call_without_a_record_of_its_parts_claims_nothing():
    assert call_row(ContextSnapshot(call=1)).prefix_percent is None


def test_a_run_shows_the_prompts_of_its_calls(browser, alice):
    world = everything_of(alice)
    ContextSnapshot.objects.filter(turn_id=world.turn_id).update(
        estimated_input_tokens=910, counted_input_tokens=None, reported_input_tokens=1_005
    )

    words = words_of(browser.get(reverse("inspector:run", args=[world.run_id])))

    assert "What the model was given" in words
    assert "1 910 — 1,005 —" in words
    assert "Instructions and tools 5" in words


def test_a_run_without_a_recorded_call_is_shown_all_the_same(browser, alice):
    world = everything_of(alice)
    ContextSnapshot.objects.all().delete()

    assert Turn.objects.filter(id=Run.objects.get(id=world.run_id).turn_id).exists()
    assert browser.get(reverse("inspector:run", args=[world.run_id])).status_code == 200
