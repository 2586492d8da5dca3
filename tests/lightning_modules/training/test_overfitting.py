"""Every variant can learn twenty sentences by heart, and its search then recites them."""

import numpy as np
import pytest
import torch

from datamodules.batching import EncodedPairs, Sequences, collate
from datamodules.corpus import ParallelText
from datamodules.grammar import GrammarCorpus
from datamodules.tokenization import Tokenizers, TokenizerSettings
from lightning_modules.metrics.bleu import corpus_bleu
from lightning_modules.training.factories import build_model
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.schedules import constant
from tests.helpers.searches import beam_search
from tests.helpers.variants import LAPTOP, configuration

SENTENCES = 20
UPDATES = 400
"""Largest number of updates."""


@pytest.fixture(scope="module")
def text() -> ParallelText:
    lines = GrammarCorpus(train_size=200, val_size=6, test_size=6, seed=3).split("train")
    pairs = sorted(set(zip(lines.source, lines.target, strict=True)), key=lambda p: len(p[0]))
    chosen = pairs[20 : 20 + SENTENCES]
    return ParallelText([pair[0] for pair in chosen], [pair[1] for pair in chosen])


QUICK = ("seq2seq", "bahdanau", "luong_predictive", "transformer")


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in LAPTOP]
)
def test_overfits_twenty_sentences_to_bleu_100(name, text):
    tokenizers = Tokenizers.train(text, TokenizerSettings("words", 1000, 1, False))
    src, tgt = (
        Sequences.of(tokenizer.encode(lines))
        for tokenizer, lines in zip(tokenizers, (text.source, text.target), strict=True)
    )
    batch = collate(EncodedPairs(np.arange(SENTENCES), src, tgt))
    config = configuration(f"model={name}", "scale=0.5")
    torch.manual_seed(0)
    model = build_model(config, len(tokenizers.source), len(tokenizers.target))
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    search = beam_search(beam_size=2)
    module = TranslationModule(
        model, tokenizers.target, lambda _: optimizer, constant, search, 0.0, {}
    )

    def recited() -> list[str]:
        model.eval()
        hypotheses = search(model, batch.src, batch.src_mask)
        model.train()
        return tokenizers.target.decode([ranked[0].tokens for ranked in hypotheses])

    for update in range(1, UPDATES + 1):
        optimizer.zero_grad()
        module.loss(batch).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if update % 50 == 0 and recited() == text.target:
            break
    translations = recited()
    assert translations == text.target
    assert corpus_bleu(translations, text.target) == pytest.approx(100)
