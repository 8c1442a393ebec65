"""Reading data sets: LoCoMo's format, what others make of it, and files that are neither."""

import json
from datetime import UTC, datetime

import pytest

from memoryapp.evaluation import dates, samples
from memoryapp.evaluation.samples import UnreadableSetError

ANNA = {"speaker": "Anna", "dia_id": "D1:1", "text": "I adopted a parrot."}
BEN = {"speaker": "Ben", "dia_id": "D1:2", "text": "What is it called?"}
PICTURE = {"speaker": "Anna", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a green parrot"}


def locomo(*questions):
    return {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Anna",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [ANNA, BEN],
            "session_2_date_time": "9:05 am on 10 May, 2023",
            "session_2": [PICTURE],
            "session_3_date_time": "9:05 am on 11 May, 2023",
        },
        "qa": list(questions)
        or [{"question": "Which pet?", "answer": 7, "evidence": ["D1:1"], "category": 4}],
    }


@pytest.fixture
def reading(tmp_path):
    """Write this as a file and read it."""

    def read(content, **options):
        path = tmp_path / "set.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return samples.read(path, **options)

    return read


def evidence(reading, value):
    [sample] = reading(
        locomo({"question": "Which pet?", "evidence": value}, {"question": "?", "evidence": "D1:1"})
    )
    return sample.questions[0].evidence


def test_two_people_are_the_two_sides_and_keep_their_names(reading):
    [sample] = reading([locomo()])

    assert [[one.id for one in session] for session in sample.sessions] == [["D1:1", "D1:2"], ["D2:1"]]
    assert [(one.speaker, one.is_assistant) for one in sample.sessions[0]] == [("Anna", False), ("Ben", True)]
    assert sample.names == ["Anna", "Ben"]


def test_a_session_is_dated_and_its_messages_are_a_second_apart(reading):
    [sample] = reading([locomo()])

    first, second = sample.sessions[0]
    assert first.said_at == datetime(2023, 5, 8, 13, 56, 1, tzinfo=UTC)
    assert second.said_at == datetime(2023, 5, 8, 13, 56, 2, tzinfo=UTC)


def test_the_caption_of_a_picture_belongs_to_what_was_said(reading):
    [sample] = reading([locomo()])

    assert sample.sessions[1][0].text == "Look! [image: a green parrot]"


def test_categories_have_names(reading):
    [sample] = reading(
        locomo(
            *(
                {"question": "?", "evidence": "D1:1", "category": category}
                for category in (1, "5", 9, "preference")
            ),
            {"question": "?", "evidence": "D1:1"},
        )
    )

    categories = [asked.category for asked in sample.questions]
    assert categories == ["multi-hop", "adversarial", "category 9", "preference", "uncategorised"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["D1:1"], {"D1:1"}),
        ("D1:1", {"D1:1"}),
        (["D1:1; D2:1"], {"D1:1", "D2:1"}),
        (["D:1:01"], {"D1:1"}),
        ([["D1:1"], "D1:02"], {"D1:1", "D1:2"}),
        (["D"], set()),
        (["D9:17"], set()),
        ([], set()),
        (None, set()),
    ],
)
def test_evidence_is_read_however_it_is_written(reading, written, read):
    assert evidence(reading, written) == read


def test_a_question_without_known_evidence_is_not_answerable(reading):
    [sample] = reading(
        locomo({"question": "?", "evidence": ["D9:1"]}, {"question": "Pet?", "evidence": ["D1:1"]})
    )

    assert len(sample.questions) == 2
    assert [asked.text for asked in sample.answerable] == ["Pet?"]


def test_mere_roles_are_sides_without_a_name(reading):
    talk = [
        {"role": "user", "content": "我养了一只鹦鹉。", "id": 11},
        {"role": "assistant", "content": "好的。", "id": 12},
        {"role": "user", "content": "它叫小绿。", "id": 13},
    ]

    [sample] = reading(
        {"session_1": talk, "qa": [{"question": "鹦鹉叫什么？", "evidence": [13], "answer": 3}]}
    )

    assert [(one.speaker, one.is_assistant) for one in sample.sessions[0]] == [
        ("", False),
        ("", True),
        ("", False),
    ]
    assert sample.names == []
    assert sample.questions[0].evidence == {"13"}


def test_sessions_at_the_top_without_dates_keep_their_order(reading):
    bare = {
        "session_2": [{"text": "Later."}],
        "session_10": [{"text": "Last."}],
        "session_1": [{"clean_text": "First."}],
    }

    [sample] = reading(bare | {"qa": [{"question": "?", "evidence": ["D2:1"]}]})

    assert [session[0].text for session in sample.sessions] == ["First.", "Later.", "Last."]
    moments = [session[0].said_at for session in sample.sessions]
    assert moments == sorted(set(moments))


def test_a_message_may_have_a_time_of_its_own(reading):
    talk = [ANNA | {"date_time": "29.12.2023, 20:45:35"}, BEN]

    [sample] = reading({"session_1": talk, "qa": [{"question": "?", "evidence": ["D1:1"]}]})

    assert sample.sessions[0][0].said_at == datetime(2023, 12, 29, 20, 45, tzinfo=UTC)
    assert sample.sessions[0][1].said_at > sample.sessions[0][0].said_at


def test_messages_without_text_are_left_out(reading):
    talk = [ANNA, BEN | {"text": "  "}]

    [sample] = reading({"session_1": talk, "qa": [{"question": "?", "evidence": ["D1:1"]}]})

    assert [one.id for one in sample.sessions[0]] == ["D1:1"]


def test_what_a_database_cannot_hold_is_left_out_of_a_text(reading):
    talk = [ANNA | {"text": "A \x00parrot\ud83d."}]

    [sample] = reading({"session_1": talk, "qa": [{"question": "?", "evidence": ["D1:1"]}]})

    assert sample.sessions[0][0].text == "A parrot."


def test_a_file_is_a_list_one_object_or_json_lines(reading):
    lines = "\n".join(json.dumps(locomo() | {"sample_id": name}) for name in ("x", "y"))

    assert [sample.id for sample in reading([locomo()])] == ["conv-1"]
    assert [sample.id for sample in reading(locomo())] == ["conv-1"]
    assert [sample.id for sample in reading(lines)] == ["x", "y"]


def test_only_the_wanted_conversations_are_read(reading):
    two = [locomo(), locomo() | {"sample_id": "conv-2"}]

    assert [sample.id for sample in reading(two, only=["conv-2"])] == ["conv-2"]
    with pytest.raises(UnreadableSetError, match=r"no conversation conv-3\. It has: conv-1, conv-2\."):
        reading(two, only=["conv-3"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("not json", "neither JSON nor JSON lines"),
        ("[]", "holds no conversations"),
        ('["text"]', "holds no conversations"),
        ('[{"qa": []}]', "has no messages"),
        (json.dumps(locomo({"question": "?", "evidence": []})), "no question names a message"),
    ],
)
def test_a_file_of_another_sort_is_refused_with_what_was_expected(reading, content, said):
    with pytest.raises(UnreadableSetError, match=said):
        reading(content)


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path):
    with pytest.raises(UnreadableSetError, match="cannot be read: No such file"):
        samples.read(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("1:56 pm on 8 May, 2023", (2023, 5, 8, 13, 56)),
        ("12:05 am on 1 January, 2024", (2024, 1, 1, 0, 5)),
        ("2023-05-08T10:05:00Z", (2023, 5, 8, 10, 5)),
        ("2023-05-08", (2023, 5, 8, 0, 0)),
        ("2023年5月8日 10:05", (2023, 5, 8, 10, 5)),
        ("May 8th, 2023", (2023, 5, 8, 0, 0)),
        ("08.05.2023, 10:05:59", (2023, 5, 8, 10, 5)),
    ],
)
def test_moments_are_read_as_the_data_sets_write_them(written, moment):
    assert dates.said_at(written) == datetime(*moment, tzinfo=UTC)


@pytest.mark.parametrize("written", [None, "", "soon", "31 February, 2023", 5])
def test_what_is_no_moment_is_none(written):
    assert dates.said_at(written) is None
