"""Flavours of BLEU against sacreBLEU on text that is cut into tokens beforehand."""

import pytest
from pydantic import ValidationError
from sacrebleu.metrics.bleu import BLEU
from sacremoses import MosesTokenizer

from sweeps.claims.published_bleu import FLAVOURS
from tests.sweeps.claims.claim_runs import a_claim

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
