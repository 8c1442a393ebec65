"""What an evaluation found, for people; programs get the same figures as one line of JSON, as fractions of 1."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

Found = Mapping[str, Any]

_DIALOGUE_COLUMNS: Final = {
    "recall@5": "rec@5",
    "recall@10": "rec@10",
    "recall@25": "rec@25",
    "any@10": "any@10",
    "all@10": "all@10",
    "mrr": "MRR",
    "ndcg@10": "NDCG@10",
    "recall@1000tokens": "in 1,000 tokens",
    "recall_in_prompt": "in the prompt",
}
_PAIR_COLUMNS: Final = {"recall@1": "rec@1", "recall@5": "rec@5", "mrr": "MRR", "in_prompt": "in the prompt"}
_BASELINES: Final = {"bm25": "BM25 alone", "dense": "dense alone", "rrf": "RRF of both, k=60"}


def dialogues(found: Found) -> str:
    """The table of ``evaluate locomo``, in percent."""
    return "\n".join(
        [
            (
                f"{len(found['conversations'])} conversations, {found['messages']:,} messages, {found['n']} questions "
                f"({found['left_out']} more name no message that exists); {found['embedder']}"
            ),
            "",
            *_table(_DIALOGUE_COLUMNS, found),
            "",
            *_abstention(found["abstention"]),
            f"one question, median: {found['ms_p50']:.0f} ms",
        ]
    )


def pairs(found: Found) -> str:
    """The table of ``evaluate pairs``."""
    updates, contradictions, abstention = found["updates"], found["contradictions"], found["abstention"]
    return "\n".join(
        [
            f"{found['n']} questions over {found['facts']} facts, no word in common; {found['embedder']}",
            "",
            *_table(_PAIR_COLUMNS, found),
            "",
            f"{found['facts'] - found['kept_apart']} of {found['facts']} different facts were merged",
            (
                f"updates: {updates['stale_above_new']} of {updates['n']} former values above their successor, "
                f"{updates['stale_recalled']} recalled at all; the new one first for {updates['new_first']}"
            ),
            (
                f"contradictions: {contradictions['asked']} of {contradictions['n']} left to the person, "
                f"{contradictions['unsettled_recalled']} recalled before they were settled"
            ),
            _statements(found["statements"]),
            *_abstention(abstention),
        ]
    )


def _table(columns: Mapping[str, str], found: Found) -> list[str]:
    rows = [(name, figures) for name, figures in found["by_category"].items()]
    rows.append(("overall", found["overall"]))
    rows += [(_BASELINES.get(name, name), figures) for name, figures in found["baselines"].items()]
    width = max(len(name) for name, _ in rows)
    head = " " * width + "      n" + "".join(f"  {title:>6}" for title in columns.values())
    return [head, *(_line(name.ljust(width), columns, figures) for name, figures in rows)]


def _line(name: str, columns: Mapping[str, str], figures: Found) -> str:
    cells = [_percent(figures.get(column)).rjust(max(len(title), 6)) for column, title in columns.items()]
    return f"{name}  {figures['n']:>5}  " + "  ".join(cells)


def _abstention(found: Found) -> Sequence[str]:
    if found["auc"] is None:
        return ["abstention: needs two conversations"]
    return [
        (
            f"abstention: AUC {found['auc']:.3f}; at the cutoff {_percent(found['answered_known'])} % of what was said "
            f"and {_percent(found['answered_unknown'])} % of what was not get an answer"
        )
    ]


def _statements(found: Found) -> str:
    return (
        f"repetitions: {found['stored_twice']} of {found['duplicates']} stored twice; "
        f"look-alikes: {found['merged']} of {found['distinct']} merged; "
        f"updates in other words: {found['replaced']} of {found['updates']} replaced"
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"
