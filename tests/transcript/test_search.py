"""Finding what was said."""

import random
import unicodedata

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryapp.llm.base import Usage
from memoryapp.transcript import claims, conversations, queries
from memoryapp.transcript.search import FoundMessage, search_conversations, search_messages
from tests.turns import claim, post, start

pytestmark = pytest.mark.django_db


def shown(hit: FoundMessage) -> str:
    return "".join(text for text, _ in hit.snippet)


def marked(hit: FoundMessage) -> list[str]:
    return [text for text, is_match in hit.snippet if is_match]


def found(user, words, limit=10, **options):
    return [shown(hit) for hit in search_messages(user.id, words, limit=limit, **options)]


def said_by_assistant(turn, text):
    claims.finish_turn(claim(turn), reply=text, model="m", usage=Usage())


def test_other_forms_of_an_english_word_are_found_and_marked(alice):
    post(alice, "We were planning the holidays on a planet")

    [hit] = search_messages(alice.id, "plan holiday", limit=10)

    assert marked(hit) == ["planning", "holidays"]


@pytest.mark.parametrize(
    ("said", "words", "match"),
    [
        ("我们打算明年春天去东京看樱花。", "东京", "东京"),
        ("我们打算明年春天去东京看樱花。", "樱", "樱"),
        ("来週の会議は渋谷のオフィスです", "オフィス", "オフィス"),
        ("来週の会議は渋谷のオフィスです", "会議", "会議"),
        ("ｶﾞｲﾄﾞﾌﾞｯｸを買った", "ガイドブック", "ｶﾞｲﾄﾞﾌﾞｯｸ"),
        ("ฉันชอบกินข้าวผัดกุ้งที่บ้าน", "ข้าวผัด", "ข้าวผัด"),
        ("내일 학교에서 만나자", "학교", "학교"),
        (unicodedata.normalize("NFD", "来週のガイド"), "ガイド", unicodedata.normalize("NFD", "ガイド")),
        (
            unicodedata.normalize("NFD", "내일 학교에서 만나자"),
            "학교",
            unicodedata.normalize("NFD", "학교에서"),
        ),
        ("خَرَجَ أحمد إلى المَدرَسة", "المدرسة", "المَدرَسة"),
        ("שָׁלוֹם לכולם", "שלום", "שָׁלוֹם"),
        ("Ich trinke morgens Kräutertee", "kräutertee", "Kräutertee"),
        ("Ich trinke morgens Kräutertee", "Krautertee", "Kräutertee"),
        ("Sie wohnt in der Bergstraße", "bergstrasse", "Bergstraße"),
        ("Sie wohnt in der Bergstrasse", "BERGSTRAẞE", "Bergstrasse"),
        ("On se voit au café à côté", "cafe cote", "café"),
        ("On se voit au cafe\u0301", "café", "cafe\u0301"),
        ("C’est l’école d’Élise", "école", "école"),
        ("Мы живём в Казани", "КАЗАНИ", "Казани"),
        ("Мы живём в Казани", "живем", "живём"),
        ("Smørrebrød in Łódź", "smorrebrod lodz", "Smørrebrød"),
        ("मुझे हिन्दी पसंद है", "हिन्दी", "हिन्दी"),
        ("The order is ORD-2041.", "2041", "2041"),
        ("The order is ORD-2041.", "ord-2041", "ORD-2041"),
        ("The order is ＯＲＤ－２０４１.", "ORD-2041", "ＯＲＤ－２０４１"),
        ("Invoice 1041-B is paid", "1041-B", "1041-B"),
        ("Call retry_failed_jobs() first", "failed_jobs", "failed_jobs"),
        ("Write to anna.berg@example.org", "anna.berg@example.org", "anna.berg@example.org"),
        ("Write to anna.berg@example.org", "example.org", "example.org"),
        ("See https://example.org/a/plan?id=7", "plan", "plan"),
        ("It costs 3.14 euros", "3.14", "3.14"),
        ("Anna lives here", "Anna's", "Anna"),
    ],
)
def test_words_of_any_language_and_parts_of_identifiers_are_found_and_marked(alice, said, words, match):
    post(alice, said)

    [hit] = search_messages(alice.id, words, limit=10)

    assert shown(hit) == said
    assert marked(hit)[0] == match


@pytest.mark.parametrize(
    ("said", "words"),
    [("京都と東北", "東京"), ("The order is ORD-1 and not 2041", '"ORD-2041"'), ("교학", "학교")],
)
def test_characters_apart_are_not_the_word(alice, said, words):
    post(alice, said)

    assert found(alice, words) == []


def test_a_question_without_spaces_finds_what_holds_a_part_of_it(alice):
    post(alice, "我们去东京看樱花")
    for number in range(4):
        post(alice, f"今天天气很好 {number}")

    assert found(alice, "什么时候去东京？") == ["我们去东京看樱花"]


def test_replies_are_found_too_and_say_who_spoke(alice):
    turn = post(alice, "Where is it?", start(alice, title="Garden"))
    said_by_assistant(turn, "In the greenhouse.")

    [hit] = search_messages(alice.id, "greenhouse", limit=10)

    assert (hit.role, hit.seq, hit.title) == ("assistant", 1, "Garden")
    assert hit.snippet == (("In the ", False), ("greenhouse", True), (".", False))


def test_a_phrase_is_narrower_than_its_words(alice):
    post(alice, "green tea in the morning")
    post(alice, "a green cup for tea")

    assert found(alice, '"green tea"') == ["green tea in the morning"]
    assert found(alice, "“green tea” cup") == ["green tea in the morning"]
    assert len(found(alice, "green tea")) == 2


def test_a_word_can_be_excluded(alice):
    post(alice, "green tea in the morning")
    post(alice, "black tea at noon")

    assert found(alice, "tea -green") == ["black tea at noon"]
    assert found(alice, 'tea -"black tea"') == ["green tea in the morning"]
    assert found(alice, "-green") == []


def test_either_of_two_words_is_a_whole_match(alice):
    post(alice, "coffee with milk")
    post(alice, "tea with milk")
    post(alice, "milk")

    assert set(found(alice, "tea or coffee milk", limit=2)) == {"coffee with milk", "tea with milk"}


def test_what_holds_all_the_words_comes_before_what_holds_rare_ones(alice):
    post(alice, "Zanzibar")
    post(alice, "The flight to Zanzibar leaves at nine and we have to be there two hours before it does")
    post(alice, "A flight")

    assert found(alice, "flight Zanzibar")[0].startswith("The flight")
    assert len(found(alice, "flight Zanzibar")) == 3


def test_what_holds_some_of_a_questions_words_is_found_by_how_much_they_tell(alice):
    for number in range(20):
        post(alice, f"I drink tea number {number}")
    post(alice, "The dentist is in Bergen")
    post(alice, "A dentist drinks")

    hits = found(alice, "When do I drink tea with the dentist of Bergen?")

    assert hits[:2] == ["The dentist is in Bergen", "A dentist drinks"]


def test_frequent_words_alone_are_no_answer_to_a_longer_question_but_are_one_when_asked_alone(alice):
    for number in range(20):
        post(alice, f"I drink tea number {number}")
    post(alice, "The dentist is in Bergen")

    assert found(alice, "tea in Bergen", limit=50) == ["The dentist is in Bergen"]
    assert len(found(alice, "tea", limit=50)) == 20


def test_stop_words_count_only_when_nothing_else_is_asked(alice):
    post(alice, "The who and the what")
    post(alice, "Aardvark")

    assert found(alice, "what is the aardvark") == ["Aardvark"]
    assert found(alice, "the who") == ["The who and the what"]


def test_the_limit_holds(alice):
    for number in range(3):
        post(alice, f"tea number {number}")

    assert len(found(alice, "tea", limit=2)) == 2


def test_bob_finds_nothing_of_alices(alice, bob):
    conversation = start(alice, title="Tea")
    post(alice, "green tea", conversation)

    assert found(bob, "tea") == []
    assert found(bob, "tea", conversation_id=conversation.id) == []
    assert list(search_conversations(bob.id, "tea")[0]) == []


def test_a_temporary_conversation_is_searched_only_from_within(alice):
    temporary = start(alice, is_temporary=True)
    post(alice, "green tea", temporary)
    post(alice, "black tea")

    assert found(alice, "tea") == ["black tea"]
    assert found(alice, "tea", conversation_id=temporary.id) == ["green tea"]


def test_a_deleted_conversation_is_not_searched(alice):
    conversation = start(alice, title="Tea")
    post(alice, "green tea", conversation)
    queries.conversations(alice.id).filter(id=conversation.id).update(deleted_at=timezone.now())

    assert found(alice, "tea") == []
    assert found(alice, "tea", conversation_id=conversation.id) == []
    assert list(search_conversations(alice.id, "tea")[0]) == []


def test_a_turn_that_is_no_longer_shown_is_left_out_on_request(alice):
    turn = post(alice, "green tea")
    queries.turns(alice.id, turn.conversation_id).update(is_current=False)

    assert found(alice, "tea") == ["green tea"]
    assert found(alice, "tea", only_current=True) == []


@pytest.mark.parametrize(
    "words",
    [
        "",
        " ",
        "'",
        '"',
        '""',
        "& | !",
        "tea)",
        ":*",
        "\\",
        "\\'",
        "a\x00b",
        "-",
        '-"',
        "or",
        "or or",
        "tea or",
        "!!! ???",
        "🎉👩‍👩‍👧",
        "\ud83d",
        "%s %(raw)s",
        "tea <-> green",
        "'; DROP TABLE x; --",
        "x" * 10_000,
        "a " * 5_000,
        "東京" * 5_000,
        '"' * 10_000,
        "a-" * 5_000,
        "ﷺ" * 1_000,
        "\u0301\u0301",
        "-a -b",
    ],
)
def test_no_query_is_an_error(alice, words):
    post(alice, "green tea")

    assert len(search_messages(alice.id, words, limit=10)) <= 1
    assert search_conversations(alice.id, words)[0].count() <= 1


@pytest.mark.parametrize(
    ("filler", "needle", "words"),
    [
        ("lorem ipsum dolor sit amet ", "aardvark", "aardvark"),
        ("lorem ipsum dolor sit amet ", "ORD-2041", "ORD-2041"),
        ("lorem ipsum green dolor tea sit ", "the green tea", '"green tea"'),
        ("今天天气很好我们京都东北", "去东京塔", "东京塔"),
    ],
)
def test_the_end_of_a_very_long_message_is_found_and_shown(alice, filler, needle, words):
    post(alice, filler * (89_900 // len(filler)) + needle)
    post(alice, filler * 100)

    hits = [hit for hit in search_messages(alice.id, words, limit=10) if len(marked(hit)) == 1]

    assert len(hits) == 1
    assert marked(hits[0]) == [words.strip('"')]
    assert len(shown(hits[0])) <= 242


@pytest.mark.parametrize("alphabet", ["all", "letters", "ligatures"])
def test_a_message_of_a_million_characters_is_stored(alice, configure, alphabet):
    configure(STRATA_MESSAGE_MAX_CHARS="1000000")
    random.seed(7)
    characters = {
        "all": [chr(code) for code in range(1, 0x2FFFF) if not 0xD800 <= code <= 0xDFFF],
        "letters": [*"abcdefghijklmnop ", *"éß한국어ก"],
        "ligatures": ["ﷺ", " ", "㌀", "ｶ", "é"],
    }[alphabet]

    turn = post(alice, "aardvark " + "".join(random.choices(characters, k=999_990)))

    assert [hit.seq for hit in search_messages(alice.id, "aardvark", limit=10)] == [turn.seq]


def test_the_marks_are_not_the_users(alice):
    post(alice, "[[green]] <mark>tea</mark> \ue000x\ue001")

    [hit] = search_messages(alice.id, "tea", limit=1)

    assert hit.snippet == (("[[green]] <mark>", False), ("tea", True), ("</mark> \ue000x\ue001", False))


@pytest.mark.parametrize("unit", ["👩🏽‍🚀", "e\u0301", "🇫🇷 ", "字", "กี่"])
def test_a_snippet_is_short_and_cuts_no_character_in_two(alice, unit):
    post(alice, unit * 300 + " aardvark " + unit * 300)

    for chars in range(60, 75):
        [hit] = search_messages(alice.id, "aardvark", limit=1, snippet_chars=chars)
        before, match, after = (text for text, _ in hit.snippet)

        assert match == "aardvark"
        assert len(shown(hit)) <= chars + 2
        assert before.startswith("…")
        assert unit.startswith(before.removeprefix("…")[: len(unit)].strip())
        assert after.removesuffix("…").strip().endswith(unit.strip())


def test_the_part_with_the_most_words_is_shown(alice):
    post(alice, "The dentist called. " + "Nothing new. " * 60 + "The dentist moved to Bergen in May.")

    [hit] = search_messages(alice.id, "dentist Bergen May", limit=1)

    assert marked(hit) == ["dentist", "Bergen", "May"]


def test_a_search_takes_the_same_number_of_statements_however_much_is_found(alice):
    def statements(words):
        with CaptureQueriesContext(
            connection,
        ) as captured:
            list(search_conversations(alice.id, words)[0])
        return len(captured)

    post(alice, "tea", start(alice, title="Tea"))
    few = statements("tea")
    for number in range(15):
        post(alice, f"tea with {number} guests " * 50, start(alice, title=f"Tea {number}"))

    assert statements("tea for the guests of ORD-2041 在东京看樱花 -coffee") == few == 4


def test_a_conversation_is_found_by_its_title_or_by_what_was_said_in_it(alice, bob):
    titled = start(alice, title="Greenhouse")
    said = start(alice, title="Plans")
    post(alice, "The greenhouse\nneeds a roof", said)
    post(alice, "Something else", start(alice, title="Other"))
    post(bob, "My greenhouse")

    rows, words = search_conversations(alice.id, "greenhouse")

    assert set(rows) == {titled, said}
    assert words == {said.id: (("The ", False), ("greenhouse", True), (" needs a roof", False))}


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Café in Łódź", "cafe lodz"),
        ("Plans for the holidays", "holiday plan"),
        ("Greenhouse", "greenh"),
        ("东京旅行计划", "旅行"),
        ("Ticket ORD-2041", "2041"),
        ("🎉", "🎉"),
    ],
)
def test_titles_are_searched_in_any_language(alice, title, words):
    titled = start(alice, title=title)
    start(alice, title="Other")

    assert list(search_conversations(alice.id, words)[0]) == [titled]


def test_a_title_with_an_excluded_word_is_not_found(alice):
    start(alice, title="Green tea")
    black = start(alice, title="Black tea")

    assert list(search_conversations(alice.id, "tea -green")[0]) == [black]


def test_archived_conversations_are_found(alice):
    archived = start(alice, title="Old tea")
    conversations.change_conversation(alice.id, archived.id, is_archived=True)

    assert list(search_conversations(alice.id, "tea")[0]) == [archived]


def test_one_conversation_is_found_once_by_the_best_that_was_said(alice):
    conversation = start(alice)
    post(alice, "tea", conversation)
    post(alice, "tea in the greenhouse", conversation)

    _, words = search_conversations(alice.id, "tea greenhouse")

    assert [text for text, is_match in words[conversation.id] if is_match] == ["tea", "greenhouse"]


def test_the_list_shows_the_match_in_a_very_long_message(alice):
    conversation = start(alice)
    post(alice, "lorem ipsum " * 4_000 + "the aardvark sleeps" + " lorem ipsum" * 2_000, conversation)

    snippet = search_conversations(alice.id, "when does the Aardvark sleep")[1][conversation.id]

    assert [text for text, is_match in snippet if is_match] == ["aardvark", "sleeps"]
