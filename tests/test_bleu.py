"""BLEU agrees with sacreBLEU called directly, whole and by length; buckets partition the test."""

import random

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from lightning_modules.metrics.lengths import (
    BucketScore,
    bleu_by_length,
    format_csv,
    parse_csv,
)
from lightning_modules.metrics.statistics import corpus_bleu, corpus_scores, sentence_bleu


def noisy_corpus(count=80, longest=70, seed=3):
    """Sources, references and hypotheses that share most words; lengths 1 to ``longest``."""
    rng = random.Random(seed)
    words = [f"word{i}" for i in range(20)] + ["Don't,", "l'eau.", "語"]
    sources, references, hypotheses = [], [], []
    for _ in range(count):
        reference = rng.choices(words, k=rng.randint(1, longest))
        hypothesis = [rng.choice(words) if rng.random() < 0.2 else word for word in reference]
        sources.append(" ".join(rng.choices(words, k=rng.randint(1, longest))))
        references.append(" ".join(reference))
        hypotheses.append(" ".join(hypothesis))
    return sources, references, hypotheses


def test_corpus_scores_are_sacrebleus():
    _, references, hypotheses = noisy_corpus()
    scores = corpus_scores(hypotheses, references)
    assert scores.bleu == sacrebleu.corpus_bleu(hypotheses, [references]).score
    assert scores.chrf == sacrebleu.corpus_chrf(hypotheses, [references]).score
    assert scores.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_sentence_scores_are_sacrebleus():
    _, references, hypotheses = noisy_corpus(20)
    expected = [
        sacrebleu.sentence_bleu(h, [r]).score for h, r in zip(hypotheses, references, strict=True)
    ]
    assert sentence_bleu(hypotheses, references) == expected


def test_a_perfect_short_sentence_scores_100():
    assert sentence_bleu(["two words"], ["two words"]) == [pytest.approx(100)]


@pytest.mark.parametrize(("hypotheses", "references"), [([], []), (["a"], ["a", "b"])])
def test_unscorable_lists_are_refused(hypotheses, references):
    with pytest.raises(ValueError, match=r"nothing to score|1 hypotheses for 2"):
        corpus_scores(hypotheses, references)


@pytest.mark.parametrize("unit", ["source", "target"])
def test_each_bucket_is_sacrebleu_over_its_own_sentences(unit):
    sources, references, hypotheses = noisy_corpus()
    buckets = bleu_by_length(sources, references, hypotheses, unit=unit)
    assert [bucket.label for bucket in buckets] == [
        *("1–10", "11–20", "21–30", "31–40", "41–50", "51–60", "61+")
    ]
    for bucket in buckets:
        high = bucket.length_high or 10**9
        inside = [
            (h, r)
            for s, r, h in zip(sources, references, hypotheses, strict=True)
            if bucket.length_low <= len((s if unit == "source" else r).split()) <= high
        ]
        assert bucket.sentences == len(inside)
        expected = sacrebleu.corpus_bleu([h for h, _ in inside], [[r for _, r in inside]])
        assert bucket.bleu == expected.score
    assert sum(bucket.sentences for bucket in buckets) == len(sources)


def test_one_bucket_over_everything_is_the_corpus_bleu():
    sources, references, hypotheses = noisy_corpus()
    [bucket] = bleu_by_length(sources, references, hypotheses, edges=[70])
    assert bucket.bleu == corpus_bleu(hypotheses, references)


@given(
    lengths=st.lists(st.integers(1, 90), min_size=1, max_size=12),
    edges=st.sets(st.integers(1, 80), min_size=1, max_size=6).map(sorted),
)
def test_buckets_follow_the_edges_and_lose_no_sentence(lengths, edges):
    sources = [" ".join(["a"] * length) for length in lengths]
    buckets = bleu_by_length(sources, sources, sources, edges)
    highs = [bucket.length_high for bucket in buckets]
    assert highs == (edges if max(lengths) <= edges[-1] else [*edges, None])
    assert [b.length_low for b in buckets] == [1, *(edge + 1 for edge in edges)][: len(buckets)]
    assert sum(bucket.sentences for bucket in buckets) == len(lengths)
    assert all((bucket.bleu is None) == (bucket.sentences == 0) for bucket in buckets)


def test_an_edge_belongs_to_the_bucket_it_closes():
    sources = [" ".join("a" * 10), " ".join("a" * 11)]
    counts = [b.sentences for b in bleu_by_length(sources, sources, sources)]
    assert counts == [1, 1, 0, 0, 0, 0]


def test_one_sentence_in_a_bucket_and_an_empty_bucket():
    empty, single = bleu_by_length(["a b"], ["x y z v"], ["x y z v"], edges=[1, 2])
    assert empty == BucketScore(1, 1, 0, None)
    assert (single.bounds, single.sentences) == ((2, 2), 1)
    assert single.bleu == pytest.approx(100)


@pytest.mark.parametrize("edges", [[], [0, 10], [10, 10], [20, 10], [1.5], [-3]])
def test_wrong_edges_are_named_in_one_line(edges):
    with pytest.raises(ValueError, match="ascending positive integers") as error:
        bleu_by_length(["a"], ["a"], ["a"], edges)
    assert "\n" not in str(error.value)


def test_unknown_unit_and_uneven_lists_are_refused():
    with pytest.raises(ValueError, match="unknown length unit 'tokens'"):
        bleu_by_length(["a"], ["a"], ["a"], unit="tokens")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="shorter"):
        bleu_by_length(["a", "b"], ["a"], ["a", "b"])


def test_csv_holds_every_row_and_reads_back():
    rows = [
        ("bahdanau, lr=0.1", 1, BucketScore(1, 10, 5, 42.0)),
        ("none", 2, BucketScore(11, None, 0, None)),
    ]
    text = format_csv(rows)
    assert text.splitlines()[0] == "variant,seed,length_low,length_high,sentences,bleu"
    assert text.splitlines()[2] == "none,2,11,,0,"
    assert parse_csv(text) == rows


def test_a_broken_csv_row_is_named():
    with pytest.raises(ValueError, match="line 2 is no row"):
        parse_csv("variant,seed,length_low,length_high,sentences,bleu\na,b,c,d,e,f\n")
