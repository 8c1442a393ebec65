"""When two statements are one, and what becomes of a new one."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.policies.reconciliation import Decision, Known, Outcome, affirms, decide, normalise, says
from memoryapp.policies.trust import Origin

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
LISBON, STATEMENT = UUID(int=1), UUID(int=2)

origins = st.sampled_from(Origin)
# Letters, marks, symbols and punctuation of everywhere, with the awkward ones often.
texts = st.text() | st.text(alphabet="aAbİıſßﬁ'’ʼ-−#+.,!?%5 \u0301\u0345\u034f\u200d\ufe0f\u115fʹŉǰΐͅ가각⁵²½^")


@given(texts)
def test_normalising_twice_changes_nothing(text):
    assert normalise(normalise(text)) == normalise(text)


@given(st.from_regex(r"[A-Za-z0-9]+", fullmatch=True))
def test_a_plain_word_alone_is_what_it_is_in_a_sentence(word):
    assert normalise(word) == normalise(f"{word} é").split()[0]


@given(texts)
def test_case_and_surrounding_punctuation_do_not_matter(text):
    assert normalise(f"  {text.upper().lower()} !!") == normalise(text.upper().lower())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Porto.", "i live in  PORTO!"),
        ("I don't eat meat", "I don’t eat meat"),
        ("Call me “Bob”", 'call me "bob"'),
        ("Ｉ live in Ｐｏｒｔｏ", "I live in Porto"),
        ("café", "cafe\u0301"),
        ("Straße 5", "STRASSE 5"),
        ("well-known", "well known"),
        ("tea – green", "tea, green"),
        ("invoice #1041 is paid", "invoice 1041 is paid."),
        ("I ❤️ tea", "I ❤ tea"),
        ("soft\u00adware", "software"),
        ("tea\u200b time", "tea time"),
        ("x²", "x^2"),
        ("I have 2.", "I have 2"),
        ("in 2019, 2020", "in 2019 2020"),
    ],
)
def test_these_are_one_statement(one, other):
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("invoice 1041 paid", "invoice 1042 paid"),
        ("I do eat meat", "I don't eat meat"),
        ("I do eat meat", "I do not eat meat"),
        ("Anna loves Bert", "Bert loves Anna"),
        ("I program in C", "I program in C++"),
        ("I program in C", "I program in C#"),
        ("I program in C#", "I program in C++"),
        ("my blood type is A+", "my blood type is A-"),
        ("my blood type is A", "my blood type is A−"),
        ("it was -5 degrees", "it was 5 degrees"),
        ("I pay 20% more", "I pay 20 more"),
        ("it costs $5", "it costs €5"),
        ("I ❤ tea", "I 💔 tea"),
        ("10⁵", "105"),
        ("x² = 4", "x2 = 4"),
        ("10⁻⁵", "10⁵"),
        ("1½ cups", "11/2 cups"),
        ("1.500", "1,500"),
        ("1.5 mg", "15 mg"),
        (".5 mg", "5 mg"),
        ("I am 5'11", "I am 511"),
        ("李雷", "韩梅梅"),
        ("я люблю чай", "я люблю кофе"),
        ("أحب الشاي", "أحب القهوة"),
        ("राम की किताब", "राम का किताब"),
        ("मैं चाय पीता हूँ", "मैं चाय पीती हूँ"),
        ("ฉันชอบชา", "ฉันชอบช้า"),
        ("가다", "각다"),
        ("かき", "がき"),
        ("año", "ano"),
        ("שלום", "שלמה"),
    ],
)
def test_these_stay_two_statements(one, other):
    assert normalise(one) != normalise(other)


@given(st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1))
def test_letters_and_digits_of_every_script_are_kept(text):
    invisible = set("\u115f\u1160\u3164\uffa0ʼŉ")

    assert normalise(text) or set(text) <= invisible


@given(st.integers(), st.integers())
def test_two_numbers_are_never_one(one, other):
    assert (normalise(f"ticket {one}") == normalise(f"ticket {other}")) == (one == other)


@pytest.mark.parametrize(
    "blank", ["", " ", "...", "\u200b", "?!", "\u2014", "\u202e", "\U000e0041", "\ufe0f"]
)
def test_what_says_nothing_is_empty(blank):
    assert normalise(blank) == ""


def test_a_long_message_is_compared_at_once():
    assert says("I live in Porto. " * 6_000 + "My cat is Miso.", "my cat is miso")


@pytest.mark.parametrize(
    ("text", "statement", "is_said"),
    [
        ("By the way: I live in Porto!", "I live in Porto", True),
        ("I live in Portofino", "I live in Porto", False),
        ("I live near Porto", "I live in Porto", False),
        ("I moved from Porto", "I live in Porto", False),
        ("", "I live in Porto", False),
    ],
)
def test_only_whole_words_in_a_row_are_said(text, statement, is_said):
    assert says(text, statement) is is_said


def known(origin=Origin.USER_TYPED, *, memory_id=LISBON):
    return Known(id=memory_id, origin=origin, affirmed_at=MARCH)


def decision(origin=Origin.USER_TYPED, *, said_at=MARCH, needs_confirmation=False, **known):
    return decide(origin=origin, said_at=said_at, needs_confirmation=needs_confirmation, **known)


TRUSTED = origins.filter(lambda origin: origin != Origin.UNTRUSTED)


@given(origins)
def test_news_is_added_unless_untrusted(origin):
    expected = Outcome.PENDING if origin == Origin.UNTRUSTED else Outcome.ADDED

    assert decision(origin) == Decision(expected)


@given(TRUSTED, origins, st.integers(-9, 9), st.booleans())
def test_the_same_statement_is_reinforced_whoever_said_it_first(origin, first, days, needs_confirmation):
    decided = decision(
        origin,
        said_at=MARCH + timedelta(days=days),
        needs_confirmation=needs_confirmation,
        same=known(first, memory_id=STATEMENT),
        rivals=[known()],
    )

    assert decided == Decision(Outcome.REINFORCED, STATEMENT)


@given(origins, origins, st.integers(-9, 9))
def test_a_value_is_superseded_only_by_an_origin_at_least_as_strong_and_not_by_old_news(origin, held, days):
    decided = decision(origin, said_at=MARCH + timedelta(days=days), rivals=[known(held)])

    if origin == Origin.UNTRUSTED:
        assert decided == Decision(Outcome.PENDING)
    elif origin.is_at_least(held) and days >= 0:
        assert decided == Decision(Outcome.SUPERSEDED, LISBON)
    else:
        assert decided == Decision(Outcome.CONFLICT, LISBON)


@given(origins, st.booleans(), st.booleans())
def test_untrusted_text_never_touches_what_is_known(origin, is_same, is_rival):
    decided = decision(
        Origin.UNTRUSTED,
        same=known(origin, memory_id=STATEMENT) if is_same else None,
        rivals=[known(origin)] if is_rival else [],
    )

    assert decided == (Decision(Outcome.IGNORED, STATEMENT) if is_same else Decision(Outcome.PENDING))


@given(origins)
def test_a_kind_that_needs_confirmation_makes_every_news_wait(origin):
    assert decision(origin, needs_confirmation=True, rivals=[known()]) == Decision(Outcome.PENDING)


@given(origins, st.integers(-9, 9), st.booleans())
def test_what_was_said_before_it_was_replaced_is_old_news(origin, days, is_rival):
    former = Known(id=STATEMENT, origin=Origin.USER_TYPED, affirmed_at=MARCH, held_until=MARCH)

    decided = decision(
        origin, said_at=MARCH + timedelta(days=days), former=former, rivals=[known()] if is_rival else []
    )

    assert (decided == Decision(Outcome.IGNORED, STATEMENT)) == (days <= 0)


def test_one_rival_that_cannot_be_replaced_makes_it_a_conflict():
    weak, strong = known(Origin.TOOL, memory_id=STATEMENT), known()

    decided = decision(Origin.MODEL_INFERRED, rivals=[weak, strong])

    assert decided == Decision(Outcome.CONFLICT, strong.id)


@given(origins, origins)
def test_only_a_weaker_source_that_is_not_the_persons_words_leaves_a_memory_as_old_as_it_is(origin, held):
    is_outside = origin in {Origin.TOOL, Origin.IMPORTED, Origin.UNTRUSTED}

    assert affirms(origin, held=held) == (not is_outside or origin.is_at_least(held))
