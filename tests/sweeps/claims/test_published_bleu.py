"""Agreement of published values with ours."""

import math

import numpy as np
import pytest
from pydantic import ValidationError
from sacrebleu.metrics.bleu import BLEU
from sacremoses import MosesTokenizer

from sweeps.claims.published_bleu import FLAVOURS, agreement, cv_star
from tests.sweeps.claims.claim_runs import a_claim


def test_cv_star_is_nearly_the_relative_difference():
    """Of n = 2: s* = |a - b| / √2 / √(2/π), times 1 + 1/8."""
    assert cv_star(20.0, 22.0) == pytest.approx(112.5 * math.sqrt(math.pi) / 2 * 2 / 21)
    assert cv_star(20.0, 20.0) == 0


def test_cv_star_is_without_bias_for_a_normal_distribution():
    rows = np.random.default_rng(0).normal(100, 1, (20_000, 2))
    assert np.mean([cv_star(*row) for row in rows]) == pytest.approx(1 + 1 / 8, rel=0.01)


def test_equal_tables_agree_and_reversed_ones_do_not():
    table = [18.1, 18.6, 17.3, 19.0]
    assert agreement(table, table) == ([0, 0, 0, 0], pytest.approx(1), 1)
    other = agreement(table, [40 - value for value in table])
    assert (other.spearman, other.same_sign) == (pytest.approx(-1), 0)


def test_two_zeros_have_no_variation():
    assert agreement([0.0, 1, 2], [0.0, 1, 2]).cv == [None, 0, 0]


def test_published_ties_have_no_direction():
    assert agreement([1, 1, 2], [5, 6, 7]).same_sign == 1
    assert agreement([1, 2, 3], [5, 5, 7]).same_sign == pytest.approx(2 / 3)
    flat = agreement([1, 1, 1], [5, 6, 7])
    assert (flat.spearman, flat.same_sign) == (None, None)


REFERENCES = ["The cat's hat, which is red, isn't new.", "He said: “No more U.S. troops (2,000)!”"]
HYPOTHESES = ["the cat's hat, which is red, is not new.", "He said: “No U.S. troops (2,000)!”"]


def score(name):
    return FLAVOURS[name].score(HYPOTHESES, REFERENCES, "en")


def test_multi_bleu_counts_the_tokens_of_moses():
    moses = MosesTokenizer("en")
    cut = [
        [moses.tokenize(line, return_str=True, escape=False) for line in lines]
        for lines in (HYPOTHESES, REFERENCES)
    ]
    expected = BLEU(tokenize="none", smooth_method="none", force=True)
    assert score("multi-bleu, tokenised") == expected.corpus_score(cut[0], [cut[1]]).score


def test_lower_case_finds_more():
    assert score("multi-bleu, tokenised, lower-cased") > score("multi-bleu, tokenised")


def test_the_default_is_sacrebleus():
    assert score("sacrebleu") == BLEU().corpus_score(HYPOTHESES, [REFERENCES]).score
    assert score("sacrebleu, intl") != score("sacrebleu")


@pytest.mark.parametrize(
    ("published", "message"),
    [
        ({"unit": "BLEU", "flavour": "cased"}, "give one of sacrebleu; sacrebleu, intl"),
        ({"unit": "BLEU"}, "published BLEU has a flavour"),
        ({"unit": "bleu"}, "published BLEU has a flavour"),
        ({"unit": "BLEU (%)"}, "published BLEU has a flavour"),
        ({"unit": "AER", "flavour": "sacrebleu"}, "published BLEU has a flavour"),
    ],
)
def test_numbers_of_an_unknown_flavour_are_refused(published, message):
    content = {"data": "a corpus", "values": {"none": 17.8}} | published
    with pytest.raises(ValidationError, match=message):
        a_claim(published=content)
