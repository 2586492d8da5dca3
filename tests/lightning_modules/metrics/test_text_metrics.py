"""Scores from sums over sentences equal the scores that sacreBLEU computes from the texts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from lightning_modules.metrics.bleu import bleu, corpus_bleu
from lightning_modules.metrics.chosen_metrics import METRICS, signatures
from lightning_modules.metrics.metric import ReferenceText, ratio
from lightning_modules.metrics.text_metrics import SENTENCE_BLEU, TEXT_METRICS, sentence_bleu
from tests.helpers.made_text import SACREBLEU, corrupted, made_references, statistics_of

examples = settings(deadline=None, derandomize=True, max_examples=60, database=None)

ODD_CORPORA = {
    "perfect": (["the cat sat on the mat ."] * 2, ["the cat sat on the mat ."] * 2),
    "some hypotheses empty": (["", "a b c d e", ""], ["x y", "a b c d f", "a"]),
    "all hypotheses empty": (["", ""], ["x y", "a b c d f"]),
    "spaces only": (["  ", "a b c d"], ["x y", "a b c d"]),
    "references empty": (["a b c d e", "x"], ["", ""]),
    "nothing at all": ([""], [""]),
    "no match": (["a b c d e"], ["v w x y z"]),
    "no character in common": (["abc", "abc"], ["xyz", "語"]),
    "no pair in common": (["a c b d a"], ["d b c a e"]),
    "no 4-gram in common": (["a b c x d e f"], ["a b c y d e f"]),
    "one word": (["word"], ["word"]),
    "fewer than 4 tokens": (["a b c", "x y"], ["a b c", "x z"]),
    "shorter than the reference": (["a b c d e"], ["a b c d e f g h i"]),
    "longer than the reference": (["a b c d e f g h i"], ["a b c d e"]),
    "repeated words": (["the the the the the the"], ["the cat is on the mat"]),
    "punctuation": (['"Don\'t (5%), go!"', "1,000 & <b>"], ['"Don\'t" (5%) go.', "1,000"]),
    "Chinese": (["我 喜欢 吃 苹果 。", "你好世界"], ["我 喜欢 吃 香蕉 。", "你好,世界"]),
    "Arabic, Hindi, Greek": (
        ["أنا أحب القراءة كثيرا", "मैं घर जा रहा हूँ", "καλημέρα σε όλους σας"],
        ["أنا أحب الكتابة كثيرا", "मैं स्कूल जा रहा हूँ", "καλημέρα σας"],
    ),
    "emoji and joiners": (["👩‍👩‍👧 a e\u0301 b c", "ﬁ \u00a0x"], ["👩‍👧 a é b c", "fi \u00a0x y"]),
}  # fmt: skip
LINES = st.lists(st.sampled_from(["a", "b", "c", "the", "Don't,", "語", "x."]), max_size=9).map(
    " ".join
)
CORPORA = st.lists(st.tuples(LINES, LINES), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def ordinary():
    rng = np.random.default_rng(3)
    references = made_references(60, rng, longest=40)
    return corrupted(references, 0.3, rng), references


def scores(sums):
    return {name: float(METRICS[name].score(sums[METRICS[name].statistics])) for name in SACREBLEU}


def assert_as_sacrebleu(sums, hypotheses, references):
    expected = {
        name: counter.corpus_score(hypotheses, [references]).score
        for name, counter in SACREBLEU.items()
    }
    assert scores(sums) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def summed(statistics, index=slice(None)):
    return {name: counts[index].sum(0) for name, counts in statistics.items()}


def test_whole_corpus(ordinary):
    statistics = statistics_of(*ordinary)
    assert {name: counts.shape for name, counts in statistics.items()} == {
        "bleu": (60, 10),
        "exact": (60, 2),
        "chrf": (60, 24),
        "ter": (60, 2),
    }
    assert_as_sacrebleu(summed(statistics), *ordinary)
    assert corpus_bleu(*ordinary) == scores(summed(statistics))["bleu"]
    assert all(0 < score < 100 for score in scores(summed(statistics)).values())


@pytest.mark.parametrize(("hypotheses", "references"), ODD_CORPORA.values(), ids=ODD_CORPORA)
def test_odd_corpora(hypotheses, references):
    statistics = statistics_of(hypotheses, references)
    assert_as_sacrebleu(summed(statistics), hypotheses, references)
    for number, (hypothesis, reference) in enumerate(zip(hypotheses, references, strict=True)):
        assert_as_sacrebleu(summed(statistics, [number]), [hypothesis], [reference])


@pytest.mark.long
@examples
@given(CORPORA)
def test_corpora_of_few_words(pairs):
    hypotheses, references = map(list, zip(*pairs, strict=True))
    statistics = statistics_of(hypotheses, references)
    assert_as_sacrebleu(summed(statistics), hypotheses, references)
    expected = [
        BLEU(effective_order=True).sentence_score(hypothesis, [reference]).score
        for hypothesis, reference in pairs
    ]
    assert sentence_bleu(statistics) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@examples
@given(CORPORA, st.data())
def test_scores_take_leading_dimensions(pairs, data):
    hypotheses, references = map(list, zip(*pairs, strict=True))
    statistics = statistics_of(hypotheses, references)
    for name in TEXT_METRICS:
        counts = statistics[METRICS[name].statistics]
        shape = data.draw(st.sampled_from([(len(pairs), 1), (1, len(pairs)), (1, 1, len(pairs))]))
        together = METRICS[name].score(counts.reshape(*shape, -1))
        assert together.shape == shape
        assert together.ravel().tolist() == [float(METRICS[name].score(row)) for row in counts]


def test_exact_match_counts_equal_words():
    references = ["a b c", "a b", "A b", "", "a b ."]
    hypotheses = [" a  b c ", "a b c", "a b", " ", "a b."]
    counts = statistics_of(hypotheses, references)["exact"]
    assert counts.tolist() == [[1, 1], [0, 1], [0, 1], [1, 1], [0, 1]]
    assert METRICS["exact"].score(counts.sum(0)) == 40
    assert np.isnan(METRICS["exact"].score(np.zeros(2)))


def test_each_zero_is_halved_once_more():
    counts = np.array([10, 10, 4, 2, 0, 0, 10, 9, 8, 7], np.float64)
    assert bleu(counts) == pytest.approx(100 * (4 / 10 * 2 / 9 / 2 / 8 / 4 / 7) ** 0.25)


def test_signatures_are_sacrebleus():
    for counter in SACREBLEU.values():
        counter.corpus_score(["a b c d"], [["a b c d"]])
    expected = {name: str(counter.get_signature()) for name, counter in SACREBLEU.items()}
    of_sentences = {SENTENCE_BLEU: expected["bleu"].replace("eff:no", "eff:yes")}
    assert signatures(ReferenceText([])) == expected | of_sentences
    assert "eff:no|tok:13a|smooth:exp" in expected["bleu"]


def test_texts_that_look_tokenised_give_no_warning(caplog):
    statistics_of(["a b ."] * 200, ["a b ."] * 200)
    assert not caplog.records


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        ([], [], "nothing to score"),
        (["a"], ["a", "b"], "1 hypotheses for 2 references"),
        (["a", "b"], ["a"], "2 hypotheses for 1 references"),
    ],
)
@pytest.mark.parametrize("score", [statistics_of, corpus_bleu])
def test_unscorable_lists_are_refused(score, hypotheses, references, message):
    with pytest.raises(ValueError, match=message):
        score(hypotheses, references)


def test_ratios_by_hand():
    sums = np.array([[3.0, 4.0], [0.0, 5.0], [2.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(ratio(sums), [0.75, 0, np.nan, np.nan])
    likelihood = np.array([[3 * np.log(8), 3], [0, 2], [0, 0]])
    np.testing.assert_allclose(METRICS["perplexity"].score(likelihood), [8, 1, np.nan])
    statistics = statistics_of(["a b c", "d, e"], ["a b c d", "d"])
    length_ratio = METRICS["length_ratio"].score
    assert length_ratio(statistics["bleu"]).tolist() == [3 / 4, 3]
    assert length_ratio(statistics["bleu"].sum(0)) == 6 / 5


def test_alignment_scores_are_percents():
    links = np.array([2.0, 3, 4, 3])  # |A∩S|, |A∩P|, |A|, |S|
    percents = [float(METRICS[name].score(links)) for name in ("aer", "precision", "recall")]
    assert percents == pytest.approx([100 * 2 / 7, 75, 100 * 2 / 3])
