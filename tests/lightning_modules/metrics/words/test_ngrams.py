"""Counts of n-grams agree with sacreBLEU's; salient n-grams are ranked as by exact fractions."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from lightning_modules.metrics.words.ngrams import NgramCounts, SalientNgram, ngram_counts, salient

examples = settings(deadline=None, derandomize=True, max_examples=200, database=None)
sentences = st.lists(st.sampled_from("ab语"), max_size=7)
corpora = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=4)
ngrams = st.lists(st.sampled_from("abc"), min_size=1, max_size=2).map(tuple)
tallies = st.dictionaries(ngrams, st.integers(1, 4))


def only_matched(**counts):
    """Counts of single words, or of several joined by underscores."""
    matched = {tuple(words.split("_")): count for words, count in counts.items()}
    return NgramCounts(Counter(matched), Counter(), Counter())


def test_counts_by_hand():
    counts = ngram_counts([["the", "old", "cat", "sat"]], [["the", "old", "old", "cat"]])
    assert counts.matched == Counter([("the",), ("old",), ("cat",), ("the", "old"), ("old", "cat")])
    assert counts.over == Counter(
        [
            ("old",),
            *[("old", "old"), ("the", "old", "old"), ("old", "old", "cat")],
            ("the", "old", "old", "cat"),
        ]
    )
    assert counts.under == Counter(
        [
            ("sat",),
            *[("cat", "sat"), ("the", "old", "cat"), ("old", "cat", "sat")],
            ("the", "old", "cat", "sat"),
        ]
    )


def test_a_word_too_many_here_does_not_match_one_missing_there():
    counts = ngram_counts([["a"], ["b"]], [["b"], ["a"]])
    assert not counts.matched
    assert counts.over == counts.under == Counter([("a",), ("b",)])


def test_orders_end_at_four_and_stay_within_a_sentence():
    counts = ngram_counts([["a", "b", "c", "d", "e"], ["f"]], [["a", "b", "c", "d", "e"], ["f"]])
    assert Counter(len(ngram) for ngram in counts.matched) == {1: 6, 2: 4, 3: 3, 4: 2}
    assert ("e", "f") not in counts.matched


def test_an_empty_hypothesis_lacks_everything():
    counts = ngram_counts([["a", "a"], []], [[], ["b"]])
    assert not counts.matched
    assert counts.over == Counter([("b",)])
    assert counts.under == Counter({("a",): 2, ("a", "a"): 1})
    assert ngram_counts([], []) == NgramCounts(Counter(), Counter(), Counter())


@examples
@given(corpora)
def test_totals_are_those_of_bleu(couples):
    references, hypotheses = zip(*couples, strict=True)
    counts = ngram_counts(references, hypotheses)
    bleu = BLEU(tokenize="none").corpus_score(
        [" ".join(words) for words in hypotheses], [[" ".join(words) for words in references]]
    )
    for order in range(1, 5):
        matched, over, under = (
            sum(count for ngram, count in tally.items() if len(ngram) == order)
            for tally in (counts.matched, counts.over, counts.under)
        )
        assert [matched, matched + over] == [bleu.counts[order - 1], bleu.totals[order - 1]]
        assert matched + under == sum(max(0, len(words) - order + 1) for words in references)


@examples
@given(corpora)
def test_exchanging_the_sides_exchanges_over_and_under(couples):
    references, hypotheses = zip(*couples, strict=True)
    there, back = ngram_counts(references, hypotheses), ngram_counts(hypotheses, references)
    assert (there.matched, there.over, there.under) == (back.matched, back.under, back.over)


def test_salient_by_hand():
    first = only_matched(rare=1, often=5, same=9, less=2, both=4)
    second = only_matched(same=9, less=4, both=1, new_words=1)
    more, less = salient(first, second, "matched")
    assert more == [
        SalientNgram(("often",), 5, 0, 6 / 7),
        SalientNgram(("both",), 4, 1, 5 / 7),
        SalientNgram(("rare",), 1, 0, 2 / 3),
    ]
    assert less == [
        SalientNgram(("new", "words"), 1, 0, 2 / 3),
        SalientNgram(("less",), 4, 2, 5 / 8),
    ]


def test_equal_ratios_go_by_count_then_by_the_alphabet():
    # (3 + 1) / (3 + 1 + 2) = (1 + 1) / (1 + 0 + 2)
    first, second = only_matched(b=1, a=1, a_b=1, c=3), only_matched(c=1)
    more, less = salient(first, second, "matched")
    assert [each.ngram for each in more] == [("c",), ("a",), ("a", "b"), ("b",)]
    assert less == []
    assert salient(first, second, "matched", top=2)[0] == more[:2]


def test_alpha_favours_the_frequent():
    first, second = only_matched(once=1, often=50), only_matched(often=10)
    for alpha, leader in [(0, "once"), (0.1, "once"), (10, "often")]:
        assert salient(first, second, "matched", alpha=alpha)[0][0].ngram == (leader,)


@pytest.mark.parametrize("kind", ["matched", "over", "under"])
def test_each_kind_looks_at_its_own_counts(kind):
    empty = NgramCounts(Counter(), Counter(), Counter())
    counts = NgramCounts(Counter([("matched",)]), Counter([("over",)]), Counter([("under",)]))
    assert [each.ngram for each in salient(counts, empty, kind)[0]] == [(kind,)]
    assert [each.ngram for each in salient(empty, counts, kind)[1]] == [(kind,)]


@examples
@given(tallies, tallies, st.integers(0, 5), st.integers(0, 3))
def test_ranking_against_exact_fractions(first, second, top, alpha):
    def ranked(more, less):
        ahead = {n: (count, less.get(n, 0)) for n, count in more.items() if count > less.get(n, 0)}
        ratio = {n: Fraction(a + alpha, a + b + 2 * alpha) for n, (a, b) in ahead.items()}
        order = sorted(sorted(ahead), key=lambda n: (ratio[n], ahead[n][0]), reverse=True)
        # A reversed sort is stable too: of equals the alphabetically first stays in front.
        return [(n, *ahead[n], float(ratio[n])) for n in order[:top]]

    results = salient(
        NgramCounts(Counter(), Counter(first), Counter()),
        NgramCounts(Counter(), Counter(second), Counter()),
        "over",
        top,
        alpha,
    )
    expected = (ranked(first, second), ranked(second, first))
    assert [[(e.ngram, e.count, e.other, e.ratio) for e in side] for side in results] == [*expected]


def test_mistakes_are_named():
    empty = ngram_counts([], [])
    with pytest.raises(ValueError, match="0 hypotheses for 1 references"):
        ngram_counts([["a"]], [])
    with pytest.raises(ValueError, match="unknown kind 'match': choose matched, over or under"):
        salient(empty, empty, "match")  # type: ignore[arg-type]
    for alpha in (-1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="alpha must be a finite number, 0 or more"):
            salient(empty, empty, "over", alpha=alpha)
