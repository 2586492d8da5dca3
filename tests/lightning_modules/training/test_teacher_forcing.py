"""Inputs of decoders in training: schedules, random choices and rollouts."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from datamodules.batching import EncodedPairs, Sequences, as_built, collate
from datamodules.tokenization import BOS, PAD, Words
from lightning_modules.training.factories import build
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.schedules import constant
from lightning_modules.training.teacher_forcing import ALWAYS, TeacherForcing, mixed_inputs
from tests.helpers.searches import greedy_search
from tests.helpers.variants import VOCABULARY, configuration, small_model

DECAYS = ("linear", "exponential", "inverse_sigmoid")
VARIANTS = ("bahdanau", "luong_global", "seq2seq", "transformer")


def batch(lengths):
    generator = np.random.default_rng(0)
    sides = [
        [generator.integers(4, VOCABULARY, length).tolist() for length in lengths] for _ in range(2)
    ]
    return collate(EncodedPairs(np.arange(len(lengths)), *map(Sequences.of, sides)))


def module(model, **options):
    tokenizer = Words.train(["a b c d e f g h i j k l m n o p q r s"], 100, 1)
    adam = torch.optim.Adam
    return TranslationModule(model, tokenizer, adam, constant, greedy_search(), 0.0, {}, **options)


@pytest.mark.parametrize("decay", DECAYS)
@pytest.mark.parametrize(("start", "end"), [(1, 0), (0.75, 0.25), (0, 1)])
def test_schedules_go_from_start_to_end(decay, start, end):
    forcing = TeacherForcing(start, end, decay, 1001)
    shares = [forcing.share(update) for update in range(0, 1200, 50)]
    assert shares[0] == start
    assert set(shares[20:]) == {end}
    falls = np.diff(shares[:21]) < 0
    assert falls.all() if start > end else not falls.any()


@pytest.mark.parametrize("decay", DECAYS)
@pytest.mark.parametrize("updates", [1, 2, 3, 1000])
def test_the_last_update_has_the_end_exactly(decay, updates):
    """Updates count from 0; the update before the last still has a larger share."""
    shares = [TeacherForcing(1, 0.3, decay, updates).share(update) for update in range(updates)]
    assert shares[-1] == 0.3
    assert updates == 1 or shares[0] == 1
    assert all(later < earlier for earlier, later in pairwise(shares))


@pytest.mark.parametrize(
    ("decay", "half"),
    [
        ("linear", 0.5),
        ("exponential", (np.exp(-2.5) - np.exp(-5)) / (1 - np.exp(-5))),
        ("inverse_sigmoid", 0.5),
    ],
)
def test_schedules_half_way(decay, half):
    assert TeacherForcing(1, 0, decay, 1001).share(500) == pytest.approx(half)


@pytest.mark.parametrize(
    ("name", "shares"), [("always", (1, 1, 1)), ("scheduled", (1, 0.5, 0)), ("never", (0, 0, 0))]
)
def test_shipped_schedules(name, shares):
    forcing = build(configuration(f"teacher_forcing={name}"), "teacher_forcing", total_updates=11)
    assert tuple(forcing.share(update) for update in (0, 5, 10)) == shares
    assert forcing.always == (name == "always")


def test_the_reference_alone_costs_nothing():
    model, padded = small_model("bahdanau"), batch([3, 7])
    before = torch.get_rng_state()
    model.step = None  # type: ignore[assignment,method-assign]  # is not called
    mixed = mixed_inputs(model, None, padded.tgt_in, padded.tgt_mask, 1.0)
    assert mixed is padded.tgt_in
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", VARIANTS)
def test_without_the_reference_it_is_greedy_search(name):
    model, padded = small_model(name), batch([3, 9, 1])
    memory = model.encode(padded.src, padded.src_mask)
    mixed = mixed_inputs(model, memory, padded.tgt_in, padded.tgt_mask, 0.0)
    assert torch.equal(mixed == PAD, ~padded.tgt_mask)
    hypotheses = greedy_search(max_extra=20)(model, padded.src, padded.src_mask)
    for row, ((best,), length) in enumerate(zip(hypotheses, [4, 10, 2], strict=True)):
        greedy = [BOS, *best.tokens][:length]
        assert mixed[row, : len(greedy)].tolist() == greedy


@pytest.mark.parametrize("name", VARIANTS)
def test_the_model_reads_its_own_choices_between_references(name):
    """Whole-target decoding: each token is the reference, or best at the step before."""
    model, padded = small_model(name), batch([12] * 40)
    memory = model.encode(padded.src, padded.src_mask)
    torch.manual_seed(0)
    mixed = mixed_inputs(model, memory, padded.tgt_in, padded.tgt_mask, 0.5)
    scores = model.logits(model.decode(memory, mixed).features)
    scores[..., [PAD, BOS]] = float("-inf")
    predicted = scores.argmax(-1)[:, :-1]
    reference = padded.tgt_in[:, 1:]
    assert (mixed[:, 0] == BOS).all()
    assert ((mixed[:, 1:] == reference) | (mixed[:, 1:] == predicted)).all()


@pytest.mark.parametrize("share", [0.25, 0.9])
def test_coins_keep_the_share_of_references(share):
    model, padded = small_model("bahdanau"), batch([30] * 100)
    model.output.bias.data[4] = 1e6  # the model always predicts token 4
    tgt_in = padded.tgt_in.clamp(max=5).where(padded.tgt_in == BOS, torch.tensor(5))
    memory = model.encode(padded.src, padded.src_mask)
    torch.manual_seed(0)
    mixed = mixed_inputs(model, memory, tgt_in, padded.tgt_mask, share)[:, 1:]
    assert set(mixed.unique().tolist()) == {4, 5}
    assert (mixed == 5).float().mean().item() == pytest.approx(share, abs=0.03)
    torch.manual_seed(0)
    again = mixed_inputs(model, memory, tgt_in, padded.tgt_mask, share)[:, 1:]
    assert torch.equal(mixed, again)


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_stays_and_rolling_out_is_without_dropout(training):
    model, padded = small_model("transformer", "model.dropout=0.5"), batch([5, 8])
    memory = model.encode(padded.src, padded.src_mask)
    model.train(training)
    first, second = (
        mixed_inputs(model, memory, padded.tgt_in, padded.tgt_mask, 0.0) for _ in range(2)
    )
    assert torch.equal(first, second)
    assert not first.requires_grad
    assert all(part.training == training for part in model.modules())


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize(("name", "share"), [("bahdanau", 0.5), ("transformer", 0.0)])
def test_training_on_its_own_words_overfits(name, share):
    model, padded = small_model(name), batch([4, 6, 5])
    trained = module(model.train())
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    torch.manual_seed(0)
    for _ in range(300):
        optimizer.zero_grad()
        trained.loss(padded, share=share).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    hypotheses = greedy_search()(model.eval(), padded.src, padded.src_mask)
    for row, (best,) in enumerate(hypotheses):
        assert best.tokens == padded.tgt_out[row][padded.tgt_mask[row]].tolist()


def test_loss_without_a_share_is_teacher_forced():
    padded = batch([4, 6])
    trained = module(small_model("bahdanau"))
    assert trained.teacher_forcing is ALWAYS
    assert trained.loss(padded).item() == trained.loss(padded, share=1.0).item()
    assert trained.loss(padded).item() != trained.loss(padded, share=0.0).item()


@pytest.mark.parametrize(("start", "logged"), [(1.0, None), (0.5, 0.75)])
def test_training_follows_the_schedule_and_logs_it(start, logged):
    forcing = TeacherForcing(start=start, end=1, decay="linear", total_updates=5)
    trained = module(small_model("bahdanau"), teacher_forcing=forcing)
    trained.train()
    shares = []
    loss = trained.loss

    def recorded(batch, label_smoothing, share):
        shares.append(share)
        return loss(batch, label_smoothing, share)

    trained.loss = recorded
    trainer = pl.Trainer(
        max_steps=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    batches: Any = [batch([3, 5])] * 3
    trainer.fit(trained, DataLoader(batches, batch_size=None, collate_fn=as_built))
    assert shares == pytest.approx([start + (1 - start) * update / 4 for update in range(3)])
    assert trainer.callback_metrics.get("train/teacher_forcing") == logged


def test_frozen_parameters_do_not_reach_the_optimizer():
    trained = module(small_model("bahdanau"))
    trained.model.src_embedding.weight.requires_grad_(False)
    groups = trained.configure_optimizers()["optimizer"].param_groups
    given = {id(parameter) for group in groups for parameter in group["params"]}
    assert given == {id(p) for p in trained.model.parameters()} - {
        id(trained.model.src_embedding.weight)
    }
