from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.embeddings.base import Calibration
from memoryapp.policies import dialogue
from memoryapp.policies.dialogue import Passages, question, score, speaker_key, traits
from memoryapp.policies.terms import packed, terms

CALIBRATION = Calibration(bias=0, dense=0, lexical=0)


def passages(*said, cosine=None, speakers=None):
    """``said``: (session, is_assistant, text)."""
    found = [terms(text) for *_, text in said]
    size = len(said)
    return Passages(
        session=np.array([session for session, *_ in said], np.int32),
        position=np.arange(size, dtype=np.int32),
        is_assistant=np.array([is_assistant for _, is_assistant, _ in said], np.bool_),
        speaker=np.array([speaker_key(name) for name in speakers or [""] * size], np.int32),
        said_at=np.zeros(size),
        traits=np.array([traits(text) for *_, text in said], np.int32),
        words=np.array([len(text.split()) for *_, text in said], np.int32),
        counts=np.array([len(one) for one in found], np.int32),
        terms=np.frombuffer(b"".join(map(packed, found)), "<i4").astype(np.int32),
        cosine=np.array([np.nan] * size if cosine is None else cosine, np.float32),
    )


def best(asked, found):
    return int(np.argmax(score(question(asked), found, CALIBRATION).score))


def test_the_message_with_the_words_comes_first():
    found = passages(
        (1, False, "I like hiking."), (1, False, "My dog is a dachshund."), (1, False, "Good night.")
    )

    assert best("What kind of dog do I have?", found) == 1


def test_an_answer_is_found_by_the_words_of_the_question_before_it():
    found = passages(
        (1, False, "Lovely weather today, I went out for long."),
        (1, True, "Which breed is your dog?"),
        (1, False, "A dachshund, he is three years old."),
        (1, True, "I see, thank you for telling me that."),
    )

    scores = score(question("Which breed is my dog?"), found, CALIBRATION)

    assert scores.lexical[2] > scores.lexical[0] > 0 or scores.lexical[0] == 0
    assert best("Which breed is my dog?", found) == 2


def test_neighbours_are_of_the_same_conversation_only():
    together = passages((1, True, "Which breed is your dog?"), (1, False, "A dachshund."))
    apart = passages((1, True, "Which breed is your dog?"), (2, False, "A dachshund."))

    asked = question("What breed is it?")

    assert score(asked, together, CALIBRATION).lexical[1] > 0
    assert score(asked, apart, CALIBRATION).lexical[1] == 0


def test_of_a_burst_the_other_sides_last_message_is_the_neighbour():
    found = passages(
        (1, True, "Which breed?"), (1, False, "Well."), (1, False, "A dachshund."), (1, True, "Nice.")
    )

    (previous, _), (own, _), (following, _) = dialogue._neighbours(found)

    assert previous.tolist() == [-1, 0, 0, 2]
    assert own.tolist() == [-1, -1, 1, 0]
    assert following.tolist() == [1, 3, 3, -1]


def test_an_assistants_words_count_less_unless_they_are_asked_for():
    found = passages(
        (1, False, "Any book on gardening?"), (1, True, "Read The Well-Tempered Garden, a gardening book.")
    )

    plain = score(question("gardening book"), found, CALIBRATION)
    replies = score(question("Which gardening book did you recommend?"), found, CALIBRATION)

    assert plain.base[1] < plain.base[0]
    assert replies.base[1] > replies.base[0]


def test_a_named_person_on_the_assistants_side_is_no_assistant():
    said = ((1, False, "Nice pottery class today."), (2, True, "Nice pottery class today."))

    people = score(question("pottery"), passages(*said, speakers=["Ana", "Tom"]), CALIBRATION)

    assert people.base[0] == people.base[1]


def test_who_is_named_in_the_question_is_believed_to_have_said_it():
    found = passages(
        (1, False, "I took a pottery class."), (1, True, "I took a pottery class."), speakers=["Ana", "Tom"]
    )

    assert best("When did Tom take a pottery class?", found) == 1
    assert best("When did Ana take a pottery class?", found) == 0


def test_two_named_people_are_no_hint():
    found = passages(
        (1, False, "I took a pottery class."), (2, True, "I took a pottery class."), speakers=["Ana", "Tom"]
    )

    scores = score(question("Did Ana and Tom take a pottery class?"), found, CALIBRATION)

    assert scores.base[0] == scores.base[1]


def test_a_name_does_not_take_from_what_the_user_said():
    found = passages(
        (1, False, "My sister took a pottery class."),
        (2, False, "Hello there, all well."),
        speakers=["", "Ana"],
    )

    named, unnamed = (
        score(question(asked), found, CALIBRATION).base[0]
        for asked in ("Ana pottery class", "Bea pottery class")
    )

    assert named == pytest.approx(unnamed)


def test_a_question_for_a_time_prefers_what_tells_one():
    found = passages(
        (1, False, "I moved to the coast, it is nice."), (1, False, "I moved to the coast in March.")
    )

    assert best("When did I move to the coast?", found) == 1


def test_the_conversation_about_it_lifts_its_messages():
    found = passages(
        (1, False, "Our dog loves the beach."),
        (1, False, "The dog ate my shoe."),
        (1, False, "And then it slept."),
        (2, False, "And then it slept."),
    )

    scores = score(question("the dog"), found, CALIBRATION).score

    assert scores[2] > scores[3]


def test_meaning_finds_what_no_word_does():
    found = passages((1, False, "I adore my dachshund."), (1, False, "I adore hiking."), cosine=[0.6, 0.1])

    assert best("Which pet do I have?", found) == 0


def test_a_message_without_a_vector_yet_is_found_by_its_words_among_others_that_have_one():
    found = passages(
        (1, False, "My dachshund is ill."), (1, False, "I adore hiking."), (1, False, "Good night."),
        cosine=[np.nan, 0.1, 0.15],
    )  # fmt: skip

    scores = score(question("dachshund"), found, CALIBRATION)

    assert best("dachshund", found) == 0
    assert scores.confidence[0] > 0.7


def test_without_any_vector_words_alone_convince_or_do_not():
    found = passages((1, False, "My dachshund is ill."), (1, False, "I adore hiking."))

    known, unknown = (
        score(question(asked), found, CALIBRATION).confidence.max() for asked in ("dachshund", "piano")
    )

    assert known > 0.9
    assert unknown < 0.05


def test_what_was_never_talked_about_has_no_confidence():
    found = passages(
        (1, False, "My dog is called Biscuit."), (1, True, "What a name!"), (2, False, "I work as a nurse."),
        cosine=[0.1, 0.05, 0.15],
    )  # fmt: skip

    confidence = score(question("Which instrument do I play?"), found, CALIBRATION).confidence

    assert confidence.max() < 0.05


def test_nothing_said_gives_nothing():
    scores = score(question("dog"), passages(), CALIBRATION)

    assert [len(array) for array in (scores.lexical, scores.base, scores.score, scores.confidence)] == [0] * 4


def test_a_question_without_a_word_to_look_for_finds_nothing_by_words():
    found = passages((1, False, "My dog is called Biscuit."), (1, False, "I work as a nurse."))

    assert score(question("?"), found, CALIBRATION).lexical.tolist() == [0, 0]


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.booleans(), st.text(max_size=60), st.none() | st.floats(-1, 1)),
        min_size=1,
        max_size=12,
    ),
    st.text(max_size=60),
)
def test_scores_are_finite_and_shares_are_shares(rows, asked):
    rows = sorted(rows, key=lambda row: row[0])
    found = passages(
        *(row[:3] for row in rows), cosine=[np.nan if row[3] is None else row[3] for row in rows]
    )

    scores = score(question(asked), found, CALIBRATION)

    assert np.isfinite(scores.score).all()
    assert ((scores.lexical >= 0) & (scores.lexical <= 1)).all()
    assert ((scores.confidence >= 0) & (scores.confidence <= 1)).all()


def test_more_of_the_words_never_lowers_the_confidence():
    found = passages((1, False, "My dog is ill."), (2, False, "My brown dog is ill."), (3, False, "Night."))
    found = replace(found, cosine=np.full(3, 0.2, np.float32))

    confidence = score(question("brown dog"), found, CALIBRATION).confidence

    assert confidence[1] > confidence[0] > confidence[2]


@pytest.mark.parametrize(
    ("text", "names", "spoken"),
    [
        ("When did Caroline's dog meet Melanie?", ["Caroline", "Melanie"], "When did my dog meet I?"),
        ("when did caroline move", ["Caroline"], "when did I move"),
        ("When will Will come?", ["Will"], "When will I come?"),
        ("when will it rain", ["Will"], "when will it rain"),
        ("Did Willow call?", ["Will"], "Did Willow call?"),
        ("Wann war Anna in Rom?", ["Anna"], "Wann war ich in Rom?"),
        ("小明的猫叫什么？", ["小明"], "我的猫叫什么？"),
        ("Gdzie mieszka Anna i jej mama?", ["Anna"], "Gdzie mieszka Anna i jej mama?"),
        ("Where do I live?", [], "Where do I live?"),
    ],
)
def test_a_question_is_put_as_the_speakers_would(text, names, spoken):
    assert dialogue.in_first_person(text, names) == spoken


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm moving on Friday", dialogue.FIRST_PERSON | dialogue.TIME),
        ("Is it raining?", dialogue.QUESTION),
        ("An apple is a fruit.", 0),
        ("Ich ziehe morgen um", dialogue.FIRST_PERSON | dialogue.TIME),
        ("我昨天去了北京。", dialogue.FIRST_PERSON | dialogue.TIME),
        ("Does she play?! 😀", dialogue.QUESTION),
        ("Forget that she plays.", dialogue.TO_FORGET),
    ],
)
def test_what_a_text_says_about_itself(text, expected):
    assert traits(text) == expected


def test_an_order_to_forget_and_what_the_assistant_answers_to_it():
    found = passages(
        (1, False, "I love olives."),
        (1, True, "Noted."),
        (1, False, "Forget that I love olives."),
        (1, True, "You love olives no more."),
        (1, False, "Thanks."),
        (2, True, "Olives again."),
    )

    assert np.flatnonzero(dialogue.is_to_forget(found)).tolist() == [2, 3]


def test_what_people_tell_each_other_to_forget_is_no_order():
    found = passages((1, False, "Forget that I love olives."), speakers=["Ana"])

    assert not dialogue.is_to_forget(found).any()


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("I take 5 mg of bisoprolol every morning.", "How much bisoprolol do I take?"),
        ("The budget for the kitchen is 12,000 euros.", "How much is the kitchen budget?"),
        ("The wifi password at the cabin is on the fridge.", "Where is the wifi password of the cabin?"),
    ],
)
def test_the_first_message_of_all_is_found_by_its_words(said, asked):
    alone = passages((1, False, said), (1, True, "Noted."))

    assert score(question(asked), alone, CALIBRATION).confidence[0] >= 0.4


@pytest.mark.parametrize(
    "text",
    [
        "What did you recommend for dinner?",
        "Was hast du mir empfohlen?",
        "¿Qué me recomendaste?",
        "你推荐过什么书？",
    ],
)
def test_a_question_may_ask_for_what_the_assistant_said(text):
    assert question(text).asks_for_reply


@pytest.mark.parametrize(
    "text", ["Can you tell me where I live?", "What did I say?", "Where do you think I live?"]
)
def test_or_merely_be_put_to_the_assistant(text):
    assert not question(text).asks_for_reply
