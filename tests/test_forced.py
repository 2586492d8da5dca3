"""Alignment error of references that a model is made to produce."""

import numpy as np
import pytest
import torch

from datamodules.batching import EncodedPairs, Sequences, collate
from datamodules.corpus import ParallelText
from datamodules.tokenization import Tokenizers, TokenizerSettings
from lightning_modules.forced import ForcedDecoding, forced_alignment_error
from lightning_modules.variants.arguments import Placement
from lightning_modules.variants.base import Decoded, EncoderDecoder
from tests.variants import small_model

TEXT = ParallelText(
    ["a b c", "b a", "c"],
    ["x y z", "y x", "z"],
    ["2-0 1-1 0-2", "1-0 0-1", "0-0"],
)


class Mirror(EncoderDecoder):
    """Looks at the words of the source from the last to the first."""

    def __init__(self):
        super().__init__(9, 9, 2, 2, "none", Placement())

    def encode(self, src, src_mask):
        return src_mask

    def decode(self, memory, tgt_in):
        weights = torch.zeros(*tgt_in.shape, memory.shape[1])
        for row, length in enumerate(memory.sum(1).tolist()):
            for position in range(min(tgt_in.shape[1], length - 1)):
                weights[row, position, length - 2 - position] = 1  # EOS is the last of the source
        return Decoded(tgt_in, weights)

    def initial_state(self, memory):
        raise AssertionError("nothing is searched")

    def step(self, memory, state, last_token):
        raise AssertionError("nothing is searched")

    def parts(self):
        return {}


@pytest.fixture
def tokenizers():
    return Tokenizers.train(TEXT, TokenizerSettings("words", 50, 1, False))


def batch(tokenizers):
    sides = [
        Sequences.of(tokenizer.encode(lines))
        for tokenizer, lines in zip(tokenizers, (TEXT.source, TEXT.target), strict=True)
    ]
    return collate(
        EncodedPairs(np.arange(3)[::-1].copy(), *(s.select(np.array([2, 1, 0])) for s in sides))
    )


def error(model, tokenizers, text=TEXT):
    forced = ForcedDecoding(model).predict_step(batch(tokenizers))
    return forced_alignment_error(forced, text, tokenizers)


def test_links_that_agree_with_gold_have_no_error(tokenizers):
    assert error(Mirror(), tokenizers) == 0


def test_wrong_links_are_counted(tokenizers):
    straight = ParallelText(TEXT.source, TEXT.target, ["0-0 1-1 2-2", "0-0 1-1", "0-0"])
    assert error(Mirror(), tokenizers, straight) == pytest.approx(1 - 2 * 2 / 12)  # 1-1 and 0-0


def test_without_attention_or_gold_there_is_none(tokenizers):
    assert error(small_model("seq2seq"), tokenizers) is None
    no_gold = ParallelText(TEXT.source, TEXT.target)
    assert error(Mirror(), tokenizers, no_gold) is None


def test_weights_are_those_of_each_sentence_alone(tokenizers):
    model = small_model("bahdanau")
    padded = batch(tokenizers)
    for forced, row in zip(ForcedDecoding(model).predict_step(padded), range(3), strict=True):
        source, target = int(padded.src_mask[row].sum()), int(padded.tgt_mask[row].sum())
        one = slice(row, row + 1)
        memory = model.encode(padded.src[one, :source], padded.src_mask[one, :source])
        alone = model.decode(memory, padded.tgt_in[one, :target]).weights
        assert forced.id == 2 - row
        assert forced.reference.tokens == padded.tgt_out[row, :target].tolist()
        assert forced.reference.weights is not None
        assert alone is not None
        torch.testing.assert_close(forced.reference.weights[:, :source], alone[0])
