"""The figures against cases small enough to count on one's fingers."""

import math

import pytest

from memoryapp.evaluation import metrics

RANKED = ["a", "b", "c", "d", "e", "f", "g"]


def test_recall_is_the_share_of_the_evidence_among_the_first():
    found = metrics.figures(RANKED, {"b", "f", "nowhere"})

    assert found["recall@5"] == pytest.approx(1 / 3)
    assert found["recall@10"] == pytest.approx(2 / 3)
    assert (found["any@5"], found["all@5"], found["all@10"]) == (1.0, 0.0, 0.0)


def test_all_of_the_evidence_is_found_when_each_of_it_is():
    found = metrics.figures(RANKED, {"b", "f"})

    assert (found["all@5"], found["all@10"]) == (0.0, 1.0)


def test_the_reciprocal_rank_is_that_of_the_first_hit():
    assert metrics.figures(RANKED, {"c", "d"})["mrr"] == pytest.approx(1 / 3)
    assert metrics.figures(RANKED, {"z"})["mrr"] == 0


def test_ndcg_discounts_a_hit_by_the_logarithm_of_its_rank():
    found = metrics.figures(RANKED, {"b", "c"})

    gain = 1 / math.log2(3) + 1 / math.log2(4)
    assert found["ndcg@10"] == pytest.approx(gain / (1 + 1 / math.log2(3)))


def test_ndcg_is_one_when_the_evidence_stands_first():
    assert metrics.figures(RANKED, {"a", "b"})["ndcg@10"] == pytest.approx(1)


def test_ndcg_expects_no_more_than_ten_of_much_evidence():
    ranked = [str(number) for number in range(20)]

    assert metrics.figures(ranked, set(ranked))["ndcg@10"] == pytest.approx(1)


def test_recall_in_the_budget_counts_what_was_packed():
    found = metrics.figures(RANKED, {"a", "b"}, packed={"recall@9tokens": {"b", "c"}})

    assert found["recall@9tokens"] == 0.5


def test_nothing_found_is_nothing_everywhere():
    assert set(metrics.figures([], {"a"}, packed={"recall@9tokens": set()}).values()) == {0.0}


def test_the_mean_is_over_questions():
    assert metrics.mean([{"mrr": 1.0}, {"mrr": 0.5}]) == {"mrr": 0.75}
    assert metrics.mean([]) == {}


def test_auc_is_how_often_the_known_scores_above_the_unknown_and_ties_count_half():
    assert metrics.auc([0.9, 0.8], [0.1, 0.2]) == 1
    assert metrics.auc([0.5], [0.5]) == 0.5
    assert metrics.auc([0.9, 0.3], [0.5, 0.3]) == pytest.approx((2 + 0.5) / 4)
    assert metrics.auc([], [0.5]) is None
