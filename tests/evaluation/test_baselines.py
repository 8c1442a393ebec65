"""The textbook methods that recall is compared with."""

from memoryapp.evaluation.baselines import Bm25, fused


def test_a_rare_word_counts_for_more_than_a_common_one():
    index = Bm25([["tea", "cat"], ["tea", "dog"], ["tea", "bird"], ["tea", "dog"]])

    assert index.ranking(["tea", "bird"])[0] == 2


def test_of_equal_words_the_shorter_text_is_first():
    index = Bm25([["cat", "sat", "on", "some", "old", "mat"], ["cat"]])

    assert index.ranking(["cat"]) == [1, 0]


def test_a_text_without_a_word_of_the_question_is_not_found():
    assert Bm25([["cat"], ["dog"]]).ranking(["dog"]) == [1]
    assert Bm25([["cat"]]).ranking(["bird"]) == []


def test_fusion_goes_by_ranks_alone():
    assert fused([[0, 1, 2], [1, 2, 0]]) == [1, 0, 2]
    assert fused([[3], []]) == [3]
