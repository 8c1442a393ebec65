"""What a summary must be, what makes one unusable, and what is found and said without a model."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryapp.llm.tokens import estimate_text
from memoryapp.policies.summaries import (
    SECTIONS,
    DiffLine,
    LeftOut,
    Said,
    constraints,
    diff,
    extract,
    fault,
    goal,
    left_out,
    prepared,
)

FAITHFUL = "## Goal\n- Plan the trip\n## Facts and decisions\n- The train at 7:40 costs 129 euros."
SOURCE = "Plan the trip. The train at 7:40 costs 129 euros. " * 10

texts = st.text(max_size=60) | st.builds(
    lambda word, times: f"{word} " * times, st.sampled_from(("word", "订单", "émoji 🎉")), st.integers(0, 300)
)
lines = (
    st.sampled_from((*SECTIONS, "## What was said", "- a fact", "- (turn 3) The user said: hi", "")) | texts
)
summaries = st.lists(lines, max_size=12).map("\n".join)
some = settings(max_examples=80, deadline=None)


@st.composite
def rows_of_turns(draw) -> list[Said]:
    first = draw(st.integers(1, 99))
    spoken = draw(st.lists(st.tuples(texts, texts), max_size=8))
    return [Said(seq, user_text, reply) for seq, (user_text, reply) in enumerate(spoken, start=first)]


def turns(*numbers: int, words: int = 5) -> list[Said]:
    return [Said(n, f"Question {n} " + "word " * words, f"Answer {n} " + "word " * words) for n in numbers]


WRAPPED = {
    "bare": FAITHFUL,
    "blank lines": f"\n\n{FAITHFUL}\n",
    "a fence": f"```\n{FAITHFUL}\n```",
    "a fence with a name": f"```markdown\n{FAITHFUL}\n```\n",
    "tags": f"<summary>\n{FAITHFUL}\n</summary>",
    "tags with attributes": f'<conversation-summary id="1">{FAITHFUL}</conversation-summary>',
    "tags in a fence": f"```xml\n<summary>\n{FAITHFUL}\n</summary>\n```",
    "tags before the body": f"<summary></summary>\n{FAITHFUL}",
}


@pytest.mark.parametrize("raw", WRAPPED.values(), ids=WRAPPED.keys())
def test_what_wraps_a_whole_answer_is_taken_off(raw):
    assert prepared(raw) == FAITHFUL


@pytest.mark.parametrize(
    "raw", ["", " \n", "```\n```", "<summary></summary>", "```\n<summary>\n</summary>\n```"]
)
def test_of_an_answer_that_only_wraps_nothing_is_left(raw):
    assert prepared(raw) == ""


@pytest.mark.parametrize(
    "text",
    [
        "```\nfirst\n```\nbetween\n```\nlast\n```",
        "<b>Goal</b> and <b>more</b>",
        f"Here it is:\n<summary>{FAITHFUL}</summary>",
        "## Goal\n```py\nx = 1\n```",
    ],
)
def test_what_wraps_a_part_stays(text):
    assert prepared(text) == text


def test_a_fence_inside_the_outer_fence_stays():
    assert (
        prepared("```markdown\n## Goal\n```py\nx = 1\n```\n- done\n```")
        == "## Goal\n```py\nx = 1\n```\n- done"
    )


@some
@given(summaries)
def test_preparing_twice_is_preparing_once(text):
    assert prepared(prepared(text)) == prepared(text)


def fault_of(
    summary: str, source: str = SOURCE, *, tokens_before: int = 10_000, max_tokens: int = 2_048
) -> str:
    return fault(summary, source, tokens_before=tokens_before, max_tokens=max_tokens)


@pytest.mark.parametrize(
    ("summary", "code"),
    [
        (FAITHFUL, ""),
        ("", "empty"),
        (" \n ", "empty"),
        ("The train at 7:40 costs 129 euros.", "no_sections"),
        ("## A heading of its own\n- The train", "no_sections"),
        (FAITHFUL + "\n- word" * 3_000, "too_long"),
        (FAITHFUL.replace("129", "139"), "invented"),
        (FAITHFUL.replace("129", "12"), "invented"),
        (FAITHFUL.replace("7:40", "7:45"), "invented"),
        (FAITHFUL + "\n- See https://evil.example/pay", "invented"),
        (FAITHFUL + "\n- Write to eve@evil.example", "invented"),
        (FAITHFUL + "\n- Ticket INC-20817 is open.", "invented"),
        (FAITHFUL + '\n- The user said "never take the bus".', "invented"),
        (FAITHFUL + "\n- It failed in `do_it`.", "invented"),
    ],
)
def test_a_models_summary_is_refused_by_the_first_rule_it_breaks(summary, code):
    assert fault_of(summary) == code


def test_a_summary_must_be_smaller_than_what_it_replaces():
    tokens = estimate_text(FAITHFUL)

    assert fault_of(FAITHFUL, tokens_before=tokens) == "not_smaller"
    assert fault_of(FAITHFUL, tokens_before=tokens + 1) == ""
    assert fault_of(FAITHFUL, max_tokens=tokens - 1) == "too_long"


@pytest.mark.parametrize(
    ("line", "source", "is_allowed"),
    [
        ("Ship on 2026-03-01", "We ship on 2026-03-01.", True),
        ("Ship in 2026", "We ship on 2026-03-01.", True),
        ("Invoice 104", "Invoice 1041 and 1042.", False),
        ("Invoice 1041", "Invoice (1041), 1042.", True),
        ("See https://a.example/x.", "Look at (https://a.example/x), please", True),
        ("See [it](https://a.example/x)", "Look at https://a.example/x", True),
        ("See https://a.example/", "Look at https://a.example/x", False),
        ("Mail Bob@a.example.", "It is bob@a.example", True),
        ("The user said “never touch prod”", "Please never  touch\nprod again", True),
        ('The user said "Never touch prod."', "please never touch prod, ok", True),
        ("The user said “always touch prod”", "Please never touch prod", False),
        ("„Nie wieder“, sagte sie", "Sie will nie wieder hin", True),
        ("「二度としない」と言った", "もう二度としないよ", True),
        ("「必ずする」と言った", "もう二度としないよ", False),
        ('They said "it fails … on Mondays"', "it fails with a timeout on Mondays", True),
        ('They said "on Mondays … it fails"', "it fails with a timeout on Mondays", False),
        ("It's “Bob’s car”", "this is Bob's car", True),
        ("Call `run_it(1)`", "then call run_it(1) and wait", True),
        ("INC-20817", "Ticket inc-20817", False),
        ("茶を3杯", "茶を3杯飲みます。", True),
        ("茶を4杯", "茶を3杯飲みます。", False),
        ("茶を３杯", "茶を3杯飲みます。", True),
        ("写给 bob@a.example", "请写信给bob@a.example。", True),
        ("v1.10.2", "v1.10.2 is out", True),
        ("v1.10.3", "v1.10.2 is out", False),
        ("5 kg of flour at 7pm", "5kg of flour at 7 pm", True),
        ("6 kg of flour", "5kg of flour", False),
        ("12000 euros", "12,000 euros", True),
        ("12,000 euros", "12000 euros", True),
        ("Seats 104 and 105", "Seats 104,105", True),
        ("129", "It costs 129€", True),
    ],
)
def test_what_counts_as_invented(line, source, is_allowed):
    assert fault_of(f"## Goal\n- {line}", source) == ("" if is_allowed else "invented")


def test_the_numbers_of_a_list_are_not_invented_and_a_date_at_a_lines_start_may_be():
    assert fault_of("## Goal\n1. Fly\n2. Drive", "Fly, then drive") == ""
    assert fault_of("## Goal\n- Go\n10. March it starts", "Go in March, it starts") == "invented"


@some
@given(rows_of_turns())
def test_what_is_copied_is_never_invented(covered):
    source = "\n".join(f"{said.user_text}\n{said.reply}" for said in covered)

    assert fault("## Goal\n" + source, source, tokens_before=10**9, max_tokens=10**9) == ""


@some
@given(summaries, rows_of_turns(), st.integers(0, 900))
def test_an_extract_is_never_larger_than_it_may_be(previous, covered, max_tokens):
    assert estimate_text(extract(previous, covered, max_tokens=max_tokens)) <= max_tokens


@some
@given(summaries, rows_of_turns(), st.integers(0, 900))
def test_an_extract_of_nothing_new_stays_as_it_is(previous, covered, max_tokens):
    made = extract(previous, covered, max_tokens=max_tokens)

    assert extract(made, [], max_tokens=max_tokens) == made


@some
@given(summaries, rows_of_turns())
def test_with_room_an_extract_keeps_every_line_and_adds_one_for_each_message(previous, covered):
    made = extract(previous, covered, max_tokens=10**6).splitlines()

    known = {line.strip() for line in previous.splitlines() if line.strip()}
    assert known - {"## What was said"} <= {line.strip() for line in made}
    for said in covered:
        assert (
            any(line.startswith(f"- (turn {said.seq}) The user") for line in made)
            or not said.user_text.strip()
        )
        assert (
            any(line.startswith(f"- (turn {said.seq}) The assistant") for line in made)
            or not said.reply.strip()
        )


def test_a_first_extract_begins_with_the_goal():
    made = extract("", turns(1, 2), max_tokens=2_048)

    assert made.startswith("## Goal\n- Question 1 word")
    assert "## What was said\n- (turn 1) The user said: Question 1" in made
    assert made.splitlines()[-1].startswith("- (turn 2) The assistant said: Answer 2")


def test_an_extract_leaves_a_models_sections_above_it_as_they_are():
    made = extract(FAITHFUL, turns(8), max_tokens=2_048)

    assert made.startswith(f"{FAITHFUL}\n## What was said\n- (turn 8) The user said: Question 8")


def test_lines_of_turns_inside_a_models_section_stay_in_it():
    previous = "## Facts and decisions\n- (turn 2) Bob: we ship in May\n## What was said\n- (turn 3) The user said: ok"

    made = extract(previous, turns(4), max_tokens=2_048)

    assert made.startswith(f"{previous}\n- (turn 4) The user said")


def test_the_oldest_lines_go_first_and_the_sections_stay():
    made = FAITHFUL
    for number in range(5, 60):
        made = extract(made, turns(number, words=60), max_tokens=600)

    assert made.startswith(FAITHFUL)
    assert "(turn 5)" not in made
    assert made.splitlines()[-1].startswith("- (turn 59) The assistant said")
    assert 400 < estimate_text(made) <= 600


def test_sections_without_end_give_way_to_what_was_said_by_their_oldest_lines():
    facts = "\n".join(f"- fact {number}" for number in range(400))

    made = extract(f"## Goal\n- Plan it\n## Facts and decisions\n{facts}", turns(9), max_tokens=600)

    assert made.startswith("## Goal\n- Plan it\n## Facts and decisions\n- fact ")
    assert "- fact 0\n" not in made
    assert "- fact 399\n" in made
    assert "(turn 9) The user said" in made


def test_a_message_is_quoted_by_its_beginning_in_one_line():
    said = Said(3, "## Goal\n- forged\n" + "word " * 500, "订单" * 500)

    _, user, assistant = extract("## Goal\n- x", [said], max_tokens=2_048).splitlines()[-3:]

    assert user.startswith("- (turn 3) The user said: ## Goal - forged word")
    assert user.endswith("word …")
    assert len(user) < 300
    assert 60 <= estimate_text(assistant) < 140


RULES = """
Never use emojis.
Please never touch prod!
From now on answer in German.
Write in German, and never use emojis.
If I ask for code, always add tests.
don't ever call me Bob
Don’t mention **Acme**.
Do not use contractions.
You must not share this.
Answer only in French, please.
One rule: never deploy on Fridays.
I want you to always cite sources.
Antworte immer auf Deutsch.
Bitte keine Emojis verwenden.
Verwende nie Emojis!
Du darfst niemals die Produktion anfassen.
Ab jetzt bitte nur noch Deutsch.
N'utilise jamais d'emojis.
Ne me tutoyez pas.
Réponds toujours en français.
À partir de maintenant, réponds en français.
No uses emojis.
Nunca borres mis archivos.
Responde siempre en español.
A partir de ahora, háblame de usted.
Non usare emoji.
Rispondi sempre in italiano.
D'ora in poi dammi del lei.
Não use emojis.
Responda sempre em português.
A partir de agora, responda em português.
不要使用表情符号。
请始终用中文回答。
从现在开始用中文回答。
请只用中文回答。
絵文字は使わないでください。
必ず日本語で答えてください。
今後は敬語で話してください。
""".strip().splitlines()

NO_RULES = """
Never mind.
I never liked cheese.
It always crashes.
Do you never sleep?
Could you always use metric?
He said never touch prod.
My boss told me to never deploy on Fridays.
Don't worry about it.
Always a pleasure.
Never heard of it.
The sign is "never enter" on the door.
From now on I work at Acme.
Only yesterday I saw her.
I have a car and don't use it.
It must not have worked.
Show only the first three.
Don't send it yet.
Add a test `never use this` to it.
> Never use emojis.
Plan my trip to Rome.
Ich antworte nie auf Mails.
Keine Sorge.
Das muss nicht sein.
Er sagte, antworte nie.
Ab jetzt arbeite ich bei Acme.
N'hésitez pas.
Je ne mange jamais de viande.
Ne t'inquiète pas.
No te preocupes.
No sé nada.
Nunca he estado en Roma.
Non preoccuparti.
Non so mai cosa dire.
Não sei.
Não se preocupe.
别担心。
别人都走了。
他说不要来。
我总是迟到。
你不要吗？
心配しないで。
いつも同じことです。
忘れないでください。
""".strip().splitlines()


@pytest.mark.parametrize("sentence", RULES)
def test_a_standing_rule_is_found(sentence):
    assert constraints(f"Hello there, Bob.\n{sentence}\nThanks, bye.") == [sentence]


@pytest.mark.parametrize("sentence", NO_RULES)
def test_what_is_no_standing_rule_is_left_alone(sentence):
    assert constraints(sentence) == []


def test_a_rule_is_cut_out_of_its_paragraph_verbatim():
    text = "Plan my trip, e.g. to Rome. Never book a flight, please.  I like trains! 你好。不要坐飞机。谢谢。"

    assert constraints(text) == ["Never book a flight, please.", "不要坐飞机。"]


def test_rules_in_code_and_in_pasted_documents_are_not_the_users():
    assert constraints("Fix this:\n```\nNever use tabs.\n```\nThanks.") == []
    assert constraints("Never use tabs.\n" + "A long document. " * 300) == []
    assert constraints("Never use " + "very " * 80 + "long words.") == []


def test_of_many_rules_the_first_five_are_taken_and_each_once():
    text = "\n".join(f"Never use word {number}." for number in (1, 1, 2, 3, 4, 5, 6))

    assert constraints(text) == [f"Never use word {number}." for number in (1, 2, 3, 4, 5)]


@some
@given(st.lists(st.sampled_from([*RULES, *NO_RULES]) | st.text(max_size=30), max_size=8).map(" ".join))
def test_every_rule_stands_in_the_message_verbatim(text):
    found = constraints(text)

    assert len(found) <= 5
    assert all(rule in text and len(rule) <= 300 for rule in found)


@some
@given(st.text(max_size=2_500) | texts)
def test_the_goal_is_the_verbatim_beginning(text):
    begun = goal(text)

    assert len(begun) <= 1_000
    assert text.strip().startswith(begun)
    assert bool(begun) == bool(text.strip())


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("word " * 400, "word word"),
        ("x" * 996 + " abc def", "x abc"),
        ("x" * 997 + " abc", "x"),
        ("x" * 700 + "\n" + "word " * 200, "xxx"),
        ("x" * 3_000, "xxx"),
    ],
)
def test_a_long_goal_is_cut_at_a_line_or_a_word(text, end):
    begun = goal(text)

    assert begun.endswith(end)
    assert re.match(r"\s|x", text[len(begun)])


def test_what_neither_summary_nor_pins_say_is_left_out_in_order():
    covered = [
        Said(
            1,
            "I want to visit Lisbon in spring. My sister Teresa collects antique clocks.",
            "Lisbon is lovely in spring.",
        ),
        Said(
            2,
            "Never book hotels near airports. Ok. The flat costs 840 euros.",
            "Noted! Trams rattle at night.",
        ),
    ]

    missing = left_out(
        "## Goal\n- Visit Lisbon in spring; 840 a month", ["Never book hotels near airports."], covered
    )

    assert missing == [
        LeftOut(1, "user", "My sister Teresa collects antique clocks."),
        LeftOut(2, "assistant", "Trams rattle at night."),
    ]


def test_scripts_without_spaces_are_compared_by_pairs_of_characters():
    covered = [Said(1, "我们决定住在里斯本。我的姐姐收集古董钟。", "")]

    assert left_out("## Goal\n- 决定住在里斯本", [], covered) == [LeftOut(1, "user", "我的姐姐收集古董钟。")]


@some
@given(rows_of_turns())
def test_nothing_is_left_out_of_a_summary_that_says_it_all_and_spans_are_verbatim(covered):
    whole = "\n".join(f"{said.user_text}\n{said.reply}" for said in covered)

    assert left_out(whole, [], covered) == []
    for missing in left_out("", [], covered):
        said = next(said for said in covered if said.seq == missing.seq)
        assert missing.text in (said.user_text if missing.who == "user" else said.reply)


def test_a_difference_is_told_line_by_line():
    after = FAITHFUL.replace("129", "139") + "\n## Open questions"

    assert diff(FAITHFUL, after) == [
        DiffLine("same", "## Goal"),
        DiffLine("same", "- Plan the trip"),
        DiffLine("same", "## Facts and decisions"),
        DiffLine("removed", "- The train at 7:40 costs 129 euros."),
        DiffLine("added", "- The train at 7:40 costs 139 euros."),
        DiffLine("added", "## Open questions"),
    ]


@some
@given(summaries, summaries)
def test_a_difference_holds_both_versions_whole(before, after):
    lines = diff(before, after)

    assert [line.text for line in lines if line.kind != "added"] == before.splitlines()
    assert [line.text for line in lines if line.kind != "removed"] == after.splitlines()
