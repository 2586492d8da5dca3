"""Right choices between contrastive pairs: groups, counts by source sentence, intervals."""

import numpy as np
import pytest

from datamodules.contrast_pairs import ContrastPair
from lightning_modules.metrics.bootstrap import Estimate, ScoredGroup, score_groups
from lightning_modules.metrics.contrast_choices import PairChoices
from lightning_modules.metrics.resampling import Resamples

DRAWS = Resamples(2_000, 1)


def pair(source: str, category="number", distance: int | None = 1, attractor=None):
    return ContrastPair(source, f"{source} r", f"{source} w", category, distance, attractor)


def choices(pairs, margins) -> PairChoices:
    """Choices whose wrong translations have ``margins`` more nats than the right ones."""
    right = np.full(len(pairs), 5.0)
    return PairChoices.of(pairs, right, right + margins)


def estimate(group: ScoredGroup) -> Estimate:
    found = group.estimate("s")
    assert found is not None
    return found


def test_a_smaller_loss_is_a_choice_and_a_tie_counts_half():
    found = choices([pair("a"), pair("b"), pair("c")], [0.5, -0.5, 0.0])
    assert found.right_choices.tolist() == [1, 0, 0.5]


def test_pairs_are_grouped_by_kind():
    pairs = [
        pair("a", "number", 1, True),
        pair("b", "number", 5, False),
        pair("c", "case", 6),
        pair("d", "case", None),
        pair("e", "case", 0),
    ]
    groups = choices(pairs, 1.0).groups
    members = {(kind, name): np.flatnonzero(chosen).tolist() for kind, name, chosen in groups}
    assert members == {
        ("all", "all"): [0, 1, 2, 3, 4],
        ("category", "number"): [0, 1],
        ("category", "case"): [2, 3, 4],
        ("attractor", "no attractor"): [1],
        ("attractor", "attractor"): [0],
        ("distances", "1–5"): [0, 1, 4],
        ("distances", "6–10"): [2],
        ("distance", "0"): [4],
        ("distance", "1"): [0],
        ("distance", "5"): [1],
        ("distance", "6"): [2],
    }


def test_choices_on_other_pairs_are_told_apart():
    one = choices([pair("a"), pair("b")], 1.0)
    assert one.on_pairs_of(choices([pair("a"), pair("b")], -1.0))
    assert not one.on_pairs_of(choices([pair("a"), pair("c")], 1.0))
    assert not one.on_pairs_of(choices([pair("a")], 1.0))


def test_scores_are_percentages_of_pairs_and_seeds_stay_apart():
    pairs = [pair("a"), pair("a"), pair("b", "case", 2)]
    by_seed = {1: choices(pairs, [1, 1, -1]), 2: choices(pairs, [1, -1, -1])}
    groups = score_groups({"s": by_seed}, DRAWS)
    scored = {group.name: estimate(group) for group in groups}
    assert {group.name: group.pairs for group in groups}["number"] == 2
    assert scored["number"].seeds == (100, 50)
    assert scored["all"].value == pytest.approx(50)
    assert scored["all"].deviation == pytest.approx(100 / 3 / np.sqrt(2))
    assert scored["case"].low is None  # a single sentence has no interval


def test_pairs_of_one_sentence_are_resampled_together():
    """A hundred pairs of ten sentences say no more than ten pairs, if they go together."""
    together = [pair(str(n // 10)) for n in range(100)]
    alone = [pair(str(n)) for n in range(100)]
    margins = np.where(np.arange(100) // 10 % 2, 1.0, -1.0)
    widths = []
    for pairs in (together, alone):
        everything = score_groups({"s": {1: choices(pairs, margins)}}, DRAWS)[0]
        found = estimate(everything)
        assert found.value == 50
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)
    assert widths[0] > 2.5 * widths[1]
    assert widths[1] == pytest.approx(2 * 1.96 * 5, abs=1.5)  # √(p(1-p)/n) = 5%
