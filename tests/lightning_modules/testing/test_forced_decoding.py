"""Alignment and likelihood of references that a model is made to produce."""

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax

from datamodules.batching import EncodedPairs, Sequences, collate
from datamodules.corpus import ParallelText
from datamodules.tokenization import EOS, Tokenizers, TokenizerSettings
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.lengths import length_buckets
from lightning_modules.metrics.words import PLAIN
from lightning_modules.runs.files import (
    BrokenFileError,
    read_head_attention,
    remove_earlier,
    write_head_attention,
)
from lightning_modules.testing.forced_decoding import (
    ForcedDecoding,
    ForcedSentence,
    forced_head_weights,
    forced_statistics,
    head_attention,
    shown_sentences,
    step_by_rule,
    weights_at,
    words_attention,
)
from lightning_modules.variants.base import DecoderOutput, EncoderDecoder
from tests.helpers.searches import beam_search
from tests.helpers.variants import small_model

TEXT = ParallelText(["a b c", "b a", "c"], ["x y z", "y x", "z"], ["2-0 1-1 0-2", "1-0 0-1", "0-0"])


class Mirror(EncoderDecoder):
    """A model whose attention moves from the last source word to the first."""

    features_size = 9

    def logits(self, features):
        return features

    def encode(self, src, src_mask):
        return src_mask

    def decode(self, memory, tgt_in):
        weights = torch.zeros(*tgt_in.shape, memory.shape[1])
        for row, length in enumerate(memory.sum(1).tolist()):
            for position in range(min(tgt_in.shape[1], length - 1)):
                weights[row, position, length - 2 - position] = 1  # EOS is the last of the source
        return DecoderOutput(torch.zeros(*tgt_in.shape, 9), weights)

    def initial_state(self, memory):
        raise AssertionError("nothing is searched")

    def step(self, memory, state, last_token):
        raise AssertionError("nothing is searched")


@pytest.fixture
def tokenizers():
    return Tokenizers.train(TEXT, TokenizerSettings("words", 50, 1, False))


def encoded(tokenizers):
    sides = (
        Sequences.of(tokenizer.encode(lines))
        for tokenizer, lines in zip(tokenizers, (TEXT.source, TEXT.target), strict=True)
    )
    return EncodedPairs(np.arange(3), *sides)


def batch(tokenizers):
    return collate(encoded(tokenizers).select(np.array([2, 1, 0])))


def statistics(model, tokenizers, text=TEXT):
    with torch.no_grad():
        predictions = ForcedDecoding(model).predict_step(batch(tokenizers))
    return forced_statistics(
        sorted(predictions, key=lambda one: one.id), text, tokenizers, "predicted"
    )


def error(model, tokenizers, text=TEXT):
    """Alignment error rate, in percent."""
    return float(METRICS["aer"].score(statistics(model, tokenizers, text)["links"].sum(0)))


def test_wrong_links_are_counted(tokenizers):
    straight = ParallelText(TEXT.source, TEXT.target, ["0-0 1-1 2-2", "0-0 1-1", "0-0"])
    assert error(Mirror(), tokenizers, straight) == pytest.approx(100 * (1 - 2 * 2 / 12))
    links = statistics(Mirror(), tokenizers, straight)["links"]
    assert links.tolist() == [[1, 1, 3, 3], [0, 0, 2, 2], [1, 1, 1, 1]]  # 1-1 and 0-0 are right


def test_a_possible_link_is_right_and_need_not_be_found(tokenizers):
    text = ParallelText(TEXT.source, TEXT.target, ["2?0 1-1 0?2", "1-0 0?1", "0?0"])
    counted = statistics(Mirror(), tokenizers, text)["links"]
    assert counted.tolist() == [[1, 3, 3, 1], [1, 2, 2, 1], [0, 1, 1, 0]]
    assert error(Mirror(), tokenizers, text) == 0


def test_without_attention_or_gold_there_are_no_links(tokenizers):
    assert statistics(small_model("seq2seq"), tokenizers).keys() == {"likelihood"}
    no_gold = ParallelText(TEXT.source, TEXT.target)
    assert statistics(Mirror(), tokenizers, no_gold).keys() == {"likelihood"}


def links_of(weights, text, tokenizers, step="predicted"):
    given = [ForcedSentence(0, weights, np.ones(len(weights)))]
    return forced_statistics(given, text, tokenizers, step)["links"].tolist()


def test_gold_without_links_gives_no_error_rate(tokenizers):
    # The one target word has no link either: all its weights are on EOS of the source.
    links = links_of(torch.tensor([[0.0, 1.0]] * 2), ParallelText(["a"], ["x"], [""]), tokenizers)
    assert links == [[0, 0, 0, 0]]
    assert np.isnan(METRICS["aer"].score(np.sum(links, 0, dtype=float)))


def test_a_word_with_an_unknown_piece_stays_one_word(tokenizers):
    # ``x?`` is two tokens, of which the vocabulary has the first.
    text = ParallelText(["a b"], ["x? y"], ["0-0 1-1"])
    assert tokenizers.target.words_of_line("x? y") == [0, 0, 1]
    weights = torch.eye(4, 3)[[0, 0, 1, 2]]  # a, a, b, EOS
    assert links_of(weights, text, tokenizers) == [[2, 2, 2, 2]]


def test_links_are_those_of_the_step_that_is_asked_for(tokenizers):
    text = ParallelText(["a b"], ["x y"], ["1-0"])
    assert links_of(BY_STEP, text, tokenizers, "predicted") == [[0, 0, 2, 1]]  # 0-0 and 1-1
    assert links_of(BY_STEP, text, tokenizers, "read") == [[1, 1, 2, 1]]  # 1-0 and 0-1


@pytest.mark.parametrize("name", ["bahdanau", "luong_tied", "seq2seq", "transformer"])
@pytest.mark.parametrize("rows", [2, 1024])
def test_likelihood_is_that_of_every_token_and_of_the_end(name, rows, tokenizers, monkeypatch):
    """Sentence by sentence, token by token, without any padding."""
    monkeypatch.setattr("lightning_modules.variants.base.ROWS", rows)
    model = small_model(name)
    counts = statistics(model, tokenizers)["likelihood"]
    pairs = encoded(tokenizers)
    for number in range(3):
        one = collate(pairs.select(np.array([number])))
        with torch.no_grad():
            features = model.decode(model.encode(one.src, one.src_mask), one.tgt_in).features
            scores = log_softmax(model.logits(features)[0].double(), -1)
        wanted = one.tgt_out[0].tolist()
        assert wanted[-1] == EOS
        nats = -sum(float(scores[place, token]) for place, token in enumerate(wanted))
        assert counts[number].tolist() == pytest.approx([nats, len(wanted)], rel=1e-5)
    assert counts[:, 1].tolist() == [4, 3, 2]
    perplexity = float(METRICS["perplexity"].score(counts.sum(0)))
    assert perplexity == pytest.approx(np.exp(counts[:, 0].sum() / 9))


@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_the_probability_of_the_end_is_that_of_each_position(name, tokenizers):
    """Sentence by sentence, without any padding."""
    model = small_model(name)
    with torch.no_grad():
        forced = ForcedDecoding(model, ends=True).predict_step(batch(tokenizers))
    for one in forced:
        alone = collate(encoded(tokenizers).select(np.array([one.id])))
        with torch.no_grad():
            features = model.decode(model.encode(alone.src, alone.src_mask), alone.tgt_in).features
            nats = -log_softmax(model.logits(features)[0].double(), -1)[:, EOS]
        assert one.eos_nats is not None
        np.testing.assert_allclose(one.eos_nats, nats.numpy(), rtol=1e-5)
        assert one.eos_nats[-1] == pytest.approx(one.nats[-1])  # the reference ends there
    counted = forced_statistics(forced, TEXT, tokenizers, "predicted")
    assert counted["eos"].shape[0] == len(forced)


def test_nobody_computes_the_end_unless_asked(tokenizers):
    assert "eos" not in statistics(small_model("bahdanau"), tokenizers)


def test_weights_are_those_of_each_sentence_alone(tokenizers):
    model = small_model("bahdanau")
    padded = batch(tokenizers)
    for (number, weights, *_), row in zip(
        ForcedDecoding(model).predict_step(padded), range(3), strict=True
    ):
        source, target = int(padded.src_mask[row].sum()), int(padded.tgt_mask[row].sum())
        one = slice(row, row + 1)
        memory = model.encode(padded.src[one, :source], padded.src_mask[one, :source])
        alone = model.decode(memory, padded.tgt_in[one, :target]).weights
        assert number == 2 - row
        assert weights is not None
        assert alone is not None
        torch.testing.assert_close(weights[:target, :source], alone[0])


BY_STEP = torch.tensor(
    [
        [0.9, 0.1, 0.0],  # reads BOS, predicts x
        [0.2, 0.7, 0.1],  # reads x, predicts y
        [0.3, 0.1, 0.6],  # reads y, predicts EOS
    ]
)


def test_a_word_has_the_weights_of_the_step_that_predicts_or_reads_it():
    assert weights_at("predicted", BY_STEP).tolist() == BY_STEP.tolist()
    read = weights_at("read", BY_STEP)
    assert read[0].tolist() == BY_STEP[1].tolist()
    assert read[1].tolist() == BY_STEP[2].tolist()  # the last word: of the step that predicts EOS
    assert read[2].tolist() == [0, 0, 0]
    every = torch.stack([BY_STEP, BY_STEP.flip(0)]).unsqueeze(1)
    shifted = weights_at("read", every)
    assert shifted[0, 0].tolist() == read.tolist()
    assert shifted[1, 0, :2].tolist() == BY_STEP.flip(0)[1:].tolist()


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("luong_location", "predicted"),
        ("luong_location_heads", "predicted"),
        ("luong_global", "read"),
        ("luong_predictive", "read"),
        ("bahdanau", "read"),
        ("transformer", "read"),
    ],
)
def test_footnote_14_asks_whether_the_score_looks_at_the_source(name, step):
    model = small_model(name)
    assert step_by_rule("footnote14", model) == step
    assert step_by_rule("read", model) == "read"
    assert step_by_rule("predicted", model) == "predicted"


@pytest.mark.parametrize("name", ["luong_global", "luong_multi_head", "transformer"])
def test_batches_of_any_size_give_the_same_weights(name, tokenizers):
    model = small_model(name)
    pairs = encoded(tokenizers)
    by_size = [dict(forced_head_weights(model, pairs, size)) for size in (4, 1000)]
    assert by_size[0].keys() == by_size[1].keys() == {0, 1, 2}
    for number, target, source in ((0, 4, 4), (1, 3, 3), (2, 2, 2)):
        one, other = (weights[number][..., :target, :source] for weights in by_size)
        torch.testing.assert_close(one, other)
        torch.testing.assert_close(one.sum(-1), torch.ones(one.shape[:-1]))


LINES = ["a b c d e", "b a", "c", "e d c b"]
LETTERS = ParallelText(LINES, LINES, None)


@pytest.fixture(scope="module")
def letter_tokenizers():
    return Tokenizers.train(LETTERS, TokenizerSettings("words", 50, 1, False))


def searched(name, letter_tokenizers, max_extra):
    """A model with its best hypotheses, and the pairs that it translated."""
    model = small_model(name, vocabulary=len(letter_tokenizers.target))
    sides = (Sequences.of(tokenizer.encode(LINES)) for tokenizer in letter_tokenizers)
    pairs = EncodedPairs(np.arange(len(LINES)), *sides)
    batch = collate(pairs)
    search = beam_search(max_ratio=0.0, max_extra=max_extra)
    return model, [ranked[0] for ranked in search(model, batch.src, batch.src_mask)], pairs


@pytest.mark.parametrize("max_extra", [3, 12])
@pytest.mark.parametrize("name", ["transformer", "luong_multi_head", "bahdanau_multi_head"])
def test_the_last_layers_mean_is_what_the_search_saw(name, max_extra, letter_tokenizers):
    """This holds also for a translation that the length limit cut."""
    model, best, pairs = searched(name, letter_tokenizers, max_extra)
    chosen = {number: best[number] for number in (3, 0)}
    weights = head_attention(model.train(), chosen, pairs, LETTERS, letter_tokenizers, 1000)
    assert weights.keys() == {0, 3}
    for number, heads in weights.items():
        assert heads.shape[1] > 1
        seen = words_attention(best[number], LINES[number], letter_tokenizers)
        assert seen is not None
        np.testing.assert_allclose(heads[-1].mean(0), seen, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["seq2seq", "bahdanau"])
def test_models_without_several_heads_have_none_to_look_at(name, letter_tokenizers):
    model, best, pairs = searched(name, letter_tokenizers, 12)
    assert head_attention(model, {0: best[0]}, pairs, LETTERS, letter_tokenizers, 1000) == {}


def test_the_most_readable_sentence_of_each_length_is_shown_once():
    lines = [" ".join("a" * count) for count in (3, 9, 10, 25, 30, 12, 10)]
    lengths = np.array([len(line.split()) for line in lines])
    assert shown_sentences(lines, PLAIN, length_buckets(lengths, [10, 20, 22])) == [5, 2, 3]


def test_weights_come_back_from_the_folder(tmp_path):
    weights = {
        7: np.random.default_rng(0).dirichlet(np.ones(5), (2, 3, 4)),
        0: np.ones((1, 2, 0, 3)),
    }
    write_head_attention(tmp_path, weights)
    read = read_head_attention(tmp_path)
    assert read.keys() == weights.keys()
    for number, part in weights.items():
        np.testing.assert_allclose(read[number], part, atol=1e-3)
    remove_earlier(tmp_path)
    assert read_head_attention(tmp_path) == {}
    write_head_attention(tmp_path, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arrays", [{"x": np.ones((1, 1, 1, 1))}, {"3": np.ones((2, 2))}])
def test_another_file_of_this_name_is_refused(tmp_path, arrays):
    np.savez(tmp_path / "head_attention.npz", **arrays)
    with pytest.raises(BrokenFileError, match=r"head_attention.npz cannot be read: . holds no"):
        read_head_attention(tmp_path)
