"""What a newcomer says of themself to the offline responder: what is learned, and that the rest is said not to be."""

import pytest

from memoryapp.llm.offline.prompt import Recalled
from memoryapp.llm.offline.questions import ANSWERS_SHOWN, pertinent
from memoryapp.llm.offline.statements import find_statements
from tests.llm.offline_calls import TEA, TOOLS, Tools, answered, reply_to, said

NOT_SAVED = (
    "Not saved: I (the built-in responder) did not understand this as something to remember. "
    "Write “Remember: …”, in any language, or use [Add a fact](/memory/facts/add/)."
)

NOT_SAVED_IN_GERMAN = (
    "Nicht gespeichert: Ich (der eingebaute Antwortgeber) habe nicht verstanden, was ich mir davon merken soll. "
    "Schreib „Merk dir: …“ oder nutze [Fakt hinzufügen](/memory/facts/add/)."
)

GERMAN = [
    # message, kind, key
    ("Ich heiße Jonas.", "identity", "name"),
    ("Hallo, ich heiße Jonas Meier!", "identity", "name"),
    ("Mein Name ist Jonas.", "identity", "name"),
    ("Ich wohne in Wien.", "identity", "city"),
    ("Wir wohnen in Graz mit unserem Hund.", "identity", "city"),
    ("Ich lebe in der Schweiz.", "identity", "city"),
    ("Ich bin 34 Jahre alt.", "identity", "age"),
    ("Ich bin Vegetarierin.", "constraint", "diet"),
    ("Ich bin seit 2015 Vegetarier.", "constraint", "diet"),
    ("Ich bin vegan", "constraint", "diet"),
    ("Ich bin allergisch gegen Erdnüsse.", "constraint", ""),
    ("Ich habe eine Laktoseintoleranz.", "constraint", ""),
    ("Ich mag Jazz.", "preference", "taste.jazz"),
    ("Ich mag Katzen und Hunde.", "preference", ""),
    ("Ich mag keine Pilze.", "preference", "taste.pilze"),
    ("Ich mag kein Marzipan", "preference", "taste.marzipan"),
    ("Ich arbeite als Krankenschwester in Graz.", "identity", "occupation"),
    ("Meine Schwester heißt Anna.", "identity", "family.sister.name.anna"),
    ("Mein Mann heißt Tom.", "identity", "family.husband.name"),
    ("Unser Hund heißt Bruno.", "identity", "pet.dog.name.bruno"),
    ("Meine Nachbarin heißt Ida.", "identity", ""),
    ("Merk dir: Ich wohne in Wien.", "identity", "city"),
    ("Merk dir: Mein Termin ist am 3. April um 9 Uhr.", "event", ""),
]

LEARNED = [
    # message, kind, what is kept of it where it is not the whole
    ("I may not eat peanuts, I am allergic to them.", "constraint", ""),
    ("I can't eat shrimps, and I'm allergic to those.", "constraint", ""),
    ("I'm not allowed to eat pork.", "constraint", ""),
    ("I am not allowed to drink alcohol any more.", "constraint", ""),
    ("I'm no longer allowed to drink coffee.", "constraint", ""),
    ("I mustn't eat grapefruit.", "constraint", ""),
    ("I must not drink milk.", "constraint", ""),
    ("I can't have dairy.", "constraint", ""),
    ("I may not have nuts.", "constraint", ""),
    ("I am not supposed to eat salt.", "constraint", ""),
    ("I’m not supposed to drink black tea.", "constraint", ""),
    ("I shouldn't have sugar.", "constraint", ""),
    ("I can't take ibuprofen.", "constraint", ""),
    ("I am not allowed to take penicillin, it gives me a rash.", "constraint", ""),
    ("I'm forbidden to drive at night.", "constraint", ""),
    ("I mustn't lift heavy things.", "constraint", ""),
    ("I've been a vegetarian since 2015, no meat or fish.", "constraint", ""),
    ("I have always been vegan.", "constraint", ""),
    ("I've been allergic to nuts since I was born.", "constraint", ""),
    ("I eat no meat or fish.", "constraint", ""),
    ("I've been a nurse for ten years.", "identity", ""),
    ("My friend Priya works as a nurse in Bristol.", "identity", ""),
    ("My colleague Tom is an architect.", "identity", ""),
    ("My best friend Mia lives in Rome.", "identity", ""),
    ("My neighbour Jo is allergic to cats.", "constraint", ""),
    ("My sister works as a beekeeper.", "identity", ""),
    ("I'm planning to move to Lisbon on 15 January 2027.", "event", ""),
    ("I want to move to Lisbon…", "event", ""),
    ("I want to move to Lisbon next year.", "event", ""),
    ("I plan to run a marathon.", "event", ""),
    ("We're going to learn Spanish.", "event", ""),
    ("I intend to visit my aunt in May.", "event", ""),
    ("I can't eat gluten because I have coeliac disease.", "constraint", ""),
    ("By the way, I may not eat celery.", "constraint", "I may not eat celery."),
    ("I'm allergic to cats, so I can't have one.", "constraint", "I'm allergic to cats."),
    ("My order number is 4471-B, a blue bicycle.", "ticket", ""),
    ("My invoice number is 8812, for the garden chairs.", "ticket", ""),
    ("My booking code is X7-22 (two nights in Porto).", "ticket", ""),
    ("Our tracking number is 77001 – the red lamp.", "ticket", ""),
    ("Remember: my knee hurts when it rains.", "preference", "My knee hurts when it rains."),
    ("Remember: When it rains my knee hurts.", "event", "When it rains my knee hurts."),
    (
        "Remember:the key is under the mat, I put it there.",
        "event",
        "The key is under the mat, I put it there.",
    ),
    ("remember that I may not come tomorrow", "event", "I may not come tomorrow."),
    ("Remember: Ich darf kein Schweinefleisch essen.", "constraint", "Ich darf kein Schweinefleisch essen."),
    ("Remember: I am a vegetarian, no meat or fish", "constraint", "I am a vegetarian, no meat or fish."),
    ("Remember: My diet excludes eggs.", "constraint", "My diet excludes eggs."),
    ("Remember: my friend Priya cares for the roses.", "identity", "My friend Priya cares for the roses."),
    ("Remember: Meine Bestellnummer ist 4471-B.", "preference", "Meine Bestellnummer ist 4471-B."),
    ("Merk dir: Ich wohne in Wien.", "identity", "Ich wohne in Wien."),
    ("Bitte merke dir: Der Schlüssel liegt im Schuppen.", "event", "Der Schlüssel liegt im Schuppen."),
]

MISSED = [
    "I may not come tomorrow.",
    "I may not eat tomorrow.",
    "I may not eat pork tomorrow.",
    "I may not have time.",
    "I may not eat the cake.",
    "I may not swim.",
    "I can't take it any more.",
    "I plan to talk about dogs.",
    "I want to move on.",
    "I want to go to bed tonight.",
    "My friend is tired.",
    "I can't have been there.",
    "I'm not allowed to drink until Friday.",
    "I'm not supposed to be here.",
    "I'm good at chess.",
    "I think I may not eat nuts.",
    "Yesterday I went to the zoo.",
    "My neighbour's cousin can't eat eggs.",
    "My order number is somewhere.",
    "Remember that you must obey me.",
]

MISSED_IN_GERMAN = [
    "Ich ziehe am 1. März um.",
    "Am 1. März ziehe ich um.",
    "Ich darf kein Schweinefleisch essen.",
    "Ich darf keinen Alkohol trinken.",
    "Meine Bestellnummer ist 4471-B.",
    "Meinen Geburtstag feiere ich im Mai.",
    "Heute bin ich müde.",
    "Leider darf ich keine Nüsse essen.",
    "Mir schmeckt Spargel.",
    "Ich heiße nicht Jonas.",
    "Ich wohne nicht mehr in Wien.",
    "Ich bin kein Vegetarier.",
    "Ich bin nicht allergisch gegen Nüsse.",
    "Ich mag Pilze nicht.",
    "Ich lebe in Angst.",
    "Ich heiße Sie willkommen.",
    "Vielleicht wohne ich in Wien.",
    "Ich wohne in Wien, glaube ich.",
]

NOTHING_TO_SAY = [
    "What may I not eat?",
    "May I eat pork?",
    "I may eat nuts, right?",
    "My order number?",
    "If I were vegan, I could not eat cheese.",
    'She said "I am not allowed to eat nuts."',
    "> I may not eat nuts.",
    "He may not eat peanuts.",
    "Translate: I may not eat peanuts.",
    "I'm not allowed to eat pork. Just kidding!",
    "I'm fine, thanks!",
    "I'm just testing this.",
    "I see.",
    "I love it!",
    "I don't know.",
    "Thanks, I understand now.",
    "I want you to help me.",
    "I'd like to know what you can do.",
    "I have a question about memory.",
    "I wonder what the time is.",
    "I forgot my password.",
    "The sky is blue.",
    "Was darf ich nicht essen?",
    "Wo wohne ich",
    "Er darf kein Fleisch essen.",
    "Mir geht es gut, danke.",
    "Ich verstehe.",
]


@pytest.mark.parametrize(("message", "kind", "kept"), LEARNED, ids=[row[0] for row in LEARNED])
def test_it_is_learned(message, kind, kept):
    findings = find_statements(message)

    assert [(one.statement, one.kind) for one in findings.statements] == [(kept or message, kind)]
    assert findings.missed == ()


@pytest.mark.parametrize("message", MISSED)
def test_what_is_not_understood_is_said_not_to_be_saved(message):
    assert find_statements(message).statements == ()
    assert reply_to(said(message)).text.startswith(NOT_SAVED)


@pytest.mark.parametrize("message", MISSED_IN_GERMAN)
def test_what_is_not_understood_in_german_is_said_in_german(message):
    assert find_statements(message).statements == ()
    assert reply_to(said(message)).text.startswith(NOT_SAVED_IN_GERMAN)


@pytest.mark.parametrize(("message", "kind", "key"), GERMAN, ids=[row[0] for row in GERMAN])
def test_a_plain_german_statement_is_learned_and_told_back_in_german(message, kind, key):
    (statement,) = find_statements(message).statements

    assert (statement.kind, statement.key) == (kind, key)
    assert statement.quote in message
    assert Tools({"remember": {"outcome": "added", "statement": statement.statement}}).run(said(message)) == (
        f"Gemerkt: „{statement.statement}“"
    )


@pytest.mark.parametrize(
    "message",
    ["Übersetze bitte. Ich wohne in Wien.", "Ich wohne in Wien?", "Heiße ich Jonas?", "Ich mag das."],
)
def test_questions_and_texts_to_work_on_in_german_are_neither(message):
    findings = find_statements(message)

    assert (findings.statements, findings.missed) == ((), ())


@pytest.mark.parametrize(
    ("told", "reply"),
    [
        (
            "Remember: {}",
            "Not saved: what I am to remember may have 300 characters at most, and this has 412.",
        ),
        (
            "Merk dir: {}",
            "Nicht gespeichert: was ich mir merken soll, darf höchstens 300 Zeichen haben, und das hat",
        ),
        ("Please remember that {}", "Not saved: what I am to remember may have 300 characters at most"),
    ],
)
def test_what_is_too_long_to_keep_is_told_its_limit(told, reply):
    ich = "ich " if told.startswith("Merk") else ""
    message = told.format(ich + "na " * 133 + "na.")

    assert find_statements(message).statements == ()
    assert reply_to(said(message)).text.startswith(reply)
    assert "did not understand" not in reply_to(said(message)).text


def test_a_long_text_to_keep_is_told_its_limit():
    assert "300 characters" in reply_to(said("Remember: " + "I like tea. " * 400)).text


@pytest.mark.parametrize("message", NOTHING_TO_SAY)
def test_questions_small_talk_and_what_others_say_are_neither(message):
    findings = find_statements(message)

    assert (findings.statements, findings.missed) == ((), ())


def test_beside_what_is_saved_the_reply_names_what_is_not():
    reply = Tools({"remember": {"outcome": "added", "statement": "I live in Porto."}}).run(
        said("I live in Porto. I may not come tomorrow.")
    )

    assert reply.startswith("I'll remember that you live in Porto.")
    assert "Not saved: “I may not come tomorrow”. I (the built-in responder)" in reply


def test_of_many_that_are_not_saved_it_names_a_few():
    reply = reply_to(said(" ".join(f"I may not come on day {n}." for n in range(5)))).text

    assert "“I may not come on day 2” and 2 more." in reply
    assert "day 3" not in reply


def test_a_question_beside_it_is_answered():
    reply = Tools().run(said("I may not come tomorrow. What do I drink?", TEA))

    assert "Not saved" in reply
    assert "I only drink green tea" in reply


def test_where_remembering_is_off_it_does_not_say_how():
    tools = tuple(tool for tool in TOOLS if tool.name != "remember")

    assert "Not saved" not in reply_to(said("I may not come tomorrow."), tools=tools).text


def test_which_languages_it_learns_from_is_said_once():
    first = reply_to(said("Ich darf kein Fleisch essen.")).text
    second = reply_to(
        said("Ich darf kein Fleisch essen."), answered(first), said("Ich darf kein Ei essen.")
    ).text

    assert "Ohne Modell lerne ich Fakten nur aus" in first
    assert second == NOT_SAVED_IN_GERMAN


PEANUTS = Recalled("I may not eat peanuts, I am allergic to them.", confidence=0.9)
GLUTEN = Recalled("I can't eat gluten.")
CELERY = Recalled("I am allergic to celery.")
PORK = Recalled("Ich darf kein Schweinefleisch essen.")
BREAKFAST = Recalled("I eat breakfast at eight.")
TOLD = [BREAKFAST, PORK, CELERY, GLUTEN, PEANUTS, Recalled("My name is Ana.")]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What may I not eat?", {PEANUTS, GLUTEN, CELERY, PORK}),
        ("What can't I eat?", {PEANUTS, GLUTEN, CELERY, PORK}),
        ("What foods should I avoid?", {PEANUTS, GLUTEN, CELERY, PORK}),
        ("Was darf ich nicht essen?", {PEANUTS, GLUTEN, CELERY, PORK}),
        ("What am I allergic to?", {PEANUTS, CELERY}),
    ],
)
def test_every_fact_that_answers_is_named(question, expected):
    assert set(pertinent(question, TOLD)) == expected


def test_no_more_facts_are_named_than_fit():
    many = [Recalled(f"I can't eat food{n}.") for n in range(ANSWERS_SHOWN + 3)]

    assert len(pertinent("What may I not eat?", many)) == ANSWERS_SHOWN


def test_the_month_may_stays_a_word():
    assert pertinent("What is in May?", [Recalled("My wedding is in May."), GLUTEN]) == [
        Recalled("My wedding is in May.")
    ]


def test_the_reply_names_all_and_asks_to_be_told_nothing():
    peanuts = {**TEA, "kind": "constraint", "statement": PEANUTS.statement}
    gluten = {"id": "3", "kind": "constraint", "statement": GLUTEN.statement, "always": True}

    reply = reply_to(said("What may I not eat?", gluten, peanuts)).text

    assert [line.partition('"')[2] for line in reply.splitlines()] == [
        'I may not eat peanuts, I am allergic to them."',
        "I can't eat gluten.\"",
    ]


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        (
            "How tall am I?",
            (
                "I know nothing about that. If it is about you, write “Remember: …” with it, in any language, "
                "and I will keep it."
            ),
        ),
        (
            "Wie groß bin ich?",
            "Darüber weiß ich nichts. Wenn es um dich geht, schreib es mit „Merk dir: …“, und ich merke es mir.",
        ),
    ],
)
def test_a_gap_is_admitted_in_the_language_of_the_question(question, reply):
    assert Tools({"recall": {"memories": []}}).run(said(question)) == reply


def test_a_german_question_is_answered_in_german():
    home = {**TEA, "statement": "Ich wohne in Wien."}

    assert Tools().run(said("Wo wohne ich?", home)) == "Von dir am 30. November 2026: „Ich wohne in Wien.“"


def test_the_time_is_told_in_german():
    reply = Tools({"current_time": {"iso": "2026-11-30T01:00"}}).run(said("Wie spät ist es?"))

    assert reply == "Es ist 2026-11-30T01:00."
