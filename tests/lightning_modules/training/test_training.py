"""The parts around the training loop: budget, schedules, loss; and trainings that learn a task."""

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.precision import MixedPrecision
from torch.nn.functional import log_softmax
from torch.nn.utils import parameters_to_vector
from torch.utils.data import DataLoader

from datamodules.batching import EncodedPairs, Sequences, as_built, collate
from datamodules.corpus import ParallelText
from datamodules.errors import UserError, validated
from datamodules.tokenization import Tokenizers, TokenizerSettings, Words
from lightning_modules.metrics.bleu import corpus_bleu
from lightning_modules.ranks.updates import RankFlags
from lightning_modules.training.budgets import Budget
from lightning_modules.training.callbacks import TrainingBudget
from lightning_modules.training.factories import build_model
from lightning_modules.training.flops import Flops
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.schedules import constant, halving, inverse_sqrt, linear
from tests.helpers.data_settings import grammar_corpus
from tests.helpers.refusals import refused
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import LAPTOP, configuration, small_model


def module(name: str = "bahdanau", optimizer: Any = torch.optim.Adam) -> TranslationModule:
    tokenizer = Words.train(["a b c d e f g h i j k l m n o p q r s"], 100, 1)
    model = small_model(name, vocabulary=len(tokenizer))
    return TranslationModule(model, tokenizer, optimizer, constant, greedy_search(), 0.1, {})


def fit(trained: TranslationModule, updates: int, **options: Any) -> None:
    """Train on one batch through Lightning."""
    trainer = pl.Trainer(
        max_steps=updates,
        accelerator="cpu",
        limit_val_batches=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )
    trained.train()
    batches: Any = [batch([3, 7, 5])] * updates
    trainer.fit(trained, DataLoader(batches, batch_size=None, collate_fn=as_built))


def pairs(lengths: list[int]) -> EncodedPairs:
    generator = np.random.default_rng(0)
    sides = [[generator.integers(4, 20, length).tolist() for length in lengths] for _ in range(2)]
    return EncodedPairs(np.arange(len(lengths)), *map(Sequences.of, sides))


def batch(lengths: list[int]):
    return collate(pairs(lengths))


def counting(budget: Budget) -> TrainingBudget:
    """A budget of a training on three sentences, of 6 FLOPs each."""
    callback = TrainingBudget(budget)
    callback.pairs, callback.flops = pairs([3, 7, 5]), Flops(np.array([6.0, 0, 0, 0, 0, 0]))
    return callback


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_is_the_mean_over_real_tokens(smoothing):
    """Compare with the definition, position by position, padding left out."""
    trained, padded = module(), batch([3, 7, 1])
    model = trained.model
    with torch.no_grad():
        decoded = model.decode(model.encode(padded.src, padded.src_mask), padded.tgt_in)
        scores = log_softmax(model.logits(decoded.features), -1)
        terms = []
        for row, length in enumerate([4, 8, 2]):  # EOS counts
            for position in range(length):
                right = scores[row, position, padded.tgt_out[row, position]]
                anything = scores[row, position].mean()
                terms.append(-(1 - smoothing) * right - smoothing * anything)
        loss = trained.loss(padded, smoothing)
    assert loss.item() == pytest.approx(torch.stack(terms).mean().item(), rel=1e-5)


@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_bfloat16_trains_with_the_fused_optimizer(name):
    trained = module(name, partial(torch.optim.Adam, lr=4e-3, fused=True))
    before = trained.loss(batch([3, 7, 5])).item()
    fit(trained, 30, precision="bf16-mixed", gradient_clip_val=1.0)
    assert trained.loss(batch([3, 7, 5])).item() < 0.7 * before


@pytest.mark.parametrize(("precision", "fused"), [("32-true", True), ("bf16-mixed", True)])
@pytest.mark.parametrize(("how", "norm"), [(None, 2), ("value", math.inf)])
def test_clipping_bounds_the_gradients(precision, fused, how, norm):
    """With a rate of 1, plain gradient descent moves the parameters by the clipped gradient.

    The logged norm is the norm before clipping.
    """
    moved = []
    for clip in (None, 0.01):
        trained = module(optimizer=partial(torch.optim.SGD, lr=1.0, fused=fused))
        before = parameters_to_vector(trained.model.parameters())
        options = {"gradient_clip_val": clip, "gradient_clip_algorithm": how}
        options |= {"log_every_n_steps": 1}
        fit(trained, 1, precision=precision, **options)
        change = parameters_to_vector(trained.model.parameters()) - before
        moved.append(torch.linalg.vector_norm(change, norm).item())
    assert moved[0] > 0.02
    assert moved[1] == pytest.approx(0.01, rel=1e-3)
    logged = trained.trainer.callback_metrics.get("train/gradient_norm")
    assert logged == (None if how == "value" else pytest.approx(moved[0], rel=1e-3))


def test_clipping_float16_needs_an_optimizer_that_is_not_fused():
    """Lightning takes float16 on a GPU only; its plugin takes a scaler of the CPU too."""
    scaled = MixedPrecision("16-mixed", "cpu", torch.amp.GradScaler("cpu"))
    trained = module(optimizer=partial(torch.optim.Adam, fused=True))
    with pytest.raises(
        UserError, match=r"^optimizer\.fused=true: .* set optimizer\.fused=false, .*"
    ):
        fit(trained, 1, plugins=[scaled], gradient_clip_val=1.0)
    fit(trained, 1, plugins=[scaled])
    fit(module(), 1, plugins=[scaled], gradient_clip_val=1.0)


def rates(schedule: Any, updates: int, peak: float = 1.0, **settings: Any) -> list[float]:
    """Return the learning rates of the first updates."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=peak)
    scheduler, found = schedule(optimizer, **settings), []
    for _ in range(updates):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


def test_inverse_sqrt_rises_then_falls():
    found = rates(inverse_sqrt, 16, peak=0.5, warmup_updates=4)
    assert found[:4] == pytest.approx([0.125, 0.25, 0.375, 0.5])
    assert found[15] == pytest.approx(0.5 * math.sqrt(4 / 16))
    assert all(later < earlier for earlier, later in pairwise(found[3:]))


def test_a_constant_rate_stays_after_its_warm_up():
    assert rates(constant, 6, warmup_updates=4) == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0, 1.0])
    assert rates(constant, 3, peak=0.5) == [0.5] * 3


def test_linear_falls_to_the_end_of_the_budget():
    found = rates(linear, 14, warmup_updates=2, total_updates=12)
    assert found[:3] == pytest.approx([0.5, 1.0, 1.0])
    assert found[7] == pytest.approx(0.5)
    assert found[11:] == pytest.approx([0.1, 0.01, 0.01])


def test_halving_keeps_the_rate_for_half_of_ten_epochs():
    """Luong et al. 2015, section 4.1, with two updates an epoch."""
    found = rates(halving, 22, constant_share=0.5, halvings=5, total_updates=20)
    epochs = [1.0] * 5 + [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.03125]
    assert found == pytest.approx([rate for rate in epochs for _ in range(2)])


class Counted:
    """A trainer that spends a budget with updates of sentences with 4 and 8 target tokens."""

    global_step = 1
    log_every_n_steps = 10
    accumulate_grad_batches = 1
    world_size = 1
    train_dataloader = SimpleNamespace(waited=0.0)
    should_stop = False

    def __init__(self, budget: Budget) -> None:
        self.callback = counting(budget)
        self.callbacks = [RankFlags()]
        self.callback.on_fit_start(self, None)  # type: ignore[arg-type]

    def update(self, lengths: Sequence[int] = (3, 7)) -> None:
        """Spend two seconds on one update."""
        one: Any = batch(list(lengths))
        trainer: Any = self
        self.callback.on_train_batch_start(trainer, None, one, 0)  # type: ignore[arg-type]
        self.callback._started -= 2.0
        self.callback.on_train_batch_end(trainer, None, None, one, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["target_tokens", "updates"])
def test_what_is_counted_in_whole_numbers_has_a_whole_budget(kind):
    with refused("budget.amount=2.5", "integer"):
        validated(Budget, {"kind": kind, "amount": 2.5}, "budget")


def test_budget_counts_real_tokens_and_chains_the_order():
    def spend(*batches: list[int]) -> Counted:
        counted = Counted(Budget(kind="target_tokens", amount=20))
        for lengths in batches:
            counted.update(lengths)
        return counted

    first, second = [3, 7], [5, 2, 1]
    half, whole = spend(first), spend(first, second)
    assert half.callback.cost["target_tokens"] == 4 + 8
    assert not half.should_stop
    assert whole.callback.cost["target_tokens"] == 12 + 6 + 3 + 2
    assert whole.should_stop
    assert spend(first, second).callback.data_order == whole.callback.data_order
    assert spend(second, first).callback.data_order != whole.callback.data_order


@pytest.mark.parametrize(
    ("budget", "updates"),
    [
        (Budget(kind="target_tokens", amount=24), 2),
        (Budget(kind="target_tokens", amount=25), 3),
        (Budget(kind="updates", amount=3), 3),
        (Budget(kind="flops", amount=24), 2),
        (Budget(kind="flops", amount=25), 3),
        (Budget(kind="seconds", amount=3.9), 2),
        (Budget(kind="seconds", amount=4.5), 3),
    ],
)
def test_training_ends_with_the_update_that_spends_the_budget(budget, updates):
    counted = Counted(budget)
    shares = []
    while not counted.should_stop:
        counted.update()
        shares.append(counted.callback.share)
    assert len(shares) == updates
    assert shares[-1] == 1
    per_update = {"target_tokens": 12, "updates": 1, "flops": 12, "seconds": 2}[budget.kind]
    assert shares[0] == pytest.approx(per_update / budget.amount, rel=0.05)


def test_an_account_goes_on_where_it_was_kept():
    whole, first, second = (Counted(Budget(kind="updates", amount=6)) for _ in range(3))
    for _ in range(5):
        whole.update()
    for _ in range(3):
        first.update()
    second.callback.load_state_dict(first.callback.state_dict())
    for _ in range(2):
        second.update()
    then, now = whole.callback.state_dict(), second.callback.state_dict()
    cost = now["cost"]
    assert cost.pop("seconds") == pytest.approx(then["cost"].pop("seconds"), rel=0.05)
    assert now == then
    assert (cost["updates"], cost["flops"], list(now["data_order_at"])) == (5, 60, [1, 2, 4])


SENTENCES = 20
UPDATES = 400  # largest number of updates


@pytest.fixture(scope="module")
def text() -> ParallelText:
    lines = grammar_corpus(200, 6, 6, seed=3).split("train")
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
