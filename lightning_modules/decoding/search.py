"""The interface of a search, and greedy search."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from datamodules.errors import UserError
from datamodules.tokenization import BOS, EOS, PAD, UNK
from lightning_modules.decoding.hypotheses import Backpointers, Ends, HypothesisEnd
from lightning_modules.kernels.precision import search_autocast
from lightning_modules.kernels.products import packed_weights
from lightning_modules.variants.base import EncoderDecoder, for_each_tensor, select_batch

BLOCK = 64
"""Number of columns per block in ``top``."""
ROWS = {"cpu": 512}
"""Number of hypotheses whose logits are in memory at a time, by the type of the device."""
GPU_ROWS = 8192
"""Number of such hypotheses on any other device, where more rows at a time need fewer kernels."""
GPU_STEPS = 8
"""Number of steps of a search on a GPU from one decision to the next: what has ended leaves the
batch, for which the processor waits for the GPU."""
STEPS_TO_DECISION = {"cpu": 1}
"""Number of such steps by the type of the device; ``GPU_STEPS`` for any other."""


class Hypothesis(NamedTuple):
    """One translation of one sentence."""

    tokens: list[int]
    """Target tokens, EOS last unless the length limit cuts the hypothesis."""
    score: float
    """Log-probability of the tokens, divided by the length penalty if there is one."""
    weights: Tensor | None
    """Attention weights ``(tokens, src)`` on the CPU, padded as the source batch; None for a model
    without attention."""


class Search(ABC):
    """Finds translations with any ``EncoderDecoder``.

    A hypothesis for a source of S tokens (EOS included) has at most ``max_ratio · S + max_extra``
    tokens.

    Args:
        max_ratio: target tokens per source token.
        max_extra: further target tokens.
        bf16: multiply in bfloat16, independent of the trainer's precision.
        int8: multiply in integers of eight bits, on a CPU.
    """

    def __init__(self, max_ratio: float, max_extra: int, bf16: bool, int8: bool) -> None:
        if bf16 and int8:
            raise ValueError("decoding.int8=true: cannot be used with decoding.bf16=true")
        self.max_ratio = max_ratio
        self.max_extra = max_extra
        self.bf16 = bf16
        self.int8 = int8

    @torch.no_grad()
    def __call__(
        self,
        model: EncoderDecoder,
        src: Tensor,
        src_mask: Tensor,
        src_lengths: Tensor | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each sentence, best first.

        Args:
            model: in evaluation mode.
            src: ``(batch, src)`` token ids.
            src_mask: True where a token is real, ``(batch, src)``.
            src_lengths: number of real tokens, ``(batch,)``, on the CPU; None to count them.
        """
        lengths = src_mask.sum(1).cpu() if src_lengths is None else src_lengths
        if self.bf16:
            with search_autocast(src.device):
                return self._translate(model, src, src_mask, lengths)
        with packed_weights(model, self.int8):
            return self._translate(model, src, src_mask, lengths)

    def _translate(
        self, model: EncoderDecoder, src: Tensor, src_mask: Tensor, lengths: Tensor
    ) -> list[list[Hypothesis]]:
        limits = self.longest(lengths).to(model.device)
        backpointers = Backpointers()
        # Every step reads the memory: as torch multiplies it, without a copy in each step.
        memory = for_each_tensor(model.encode(src, src_mask, lengths), Tensor.contiguous)
        ends = self.search(model, memory, limits, backpointers)
        paths = iter(backpointers.trace([end for sentence in ends for end in sentence]))

        def hypothesis(end: HypothesisEnd) -> Hypothesis:
            tokens, weights = next(paths)
            return Hypothesis(tokens, end.score, weights)

        return [[hypothesis(end) for end in sentence] for sentence in ends]

    def longest(self, lengths: Tensor) -> Tensor:
        """Return the length limits, in tokens, for sources of these lengths, ``(batch,)``."""
        return (self.max_ratio * lengths + self.max_extra).long().clamp(min=1)

    @abstractmethod
    def search(
        self, model: EncoderDecoder, memory: Any, limits: Tensor, backpointers: Backpointers
    ) -> list[list[HypothesisEnd]]:
        """Search from an encoded source and record each call of ``model.step`` in ``backpointers``.

        Args:
            model: in evaluation mode.
            memory: the encoded source.
            limits: length limit of each sentence in tokens, ``(batch,)``.
            backpointers: empty.

        Returns:
            The ends of each sentence's hypotheses, best first.
        """


class GreedySearch(Search):
    """Take the most probable token at every step; finished sentences leave the batch."""

    @override
    def search(
        self, model: EncoderDecoder, memory: Any, limits: Tensor, backpointers: Backpointers
    ) -> list[list[HypothesisEnd]]:
        every = sentences = rows = torch.arange(len(limits), device=limits.device)
        tokens = torch.full_like(limits, BOS)
        totals = torch.zeros(len(limits), device=limits.device)
        going = torch.ones_like(limits, dtype=torch.bool)
        state = model.initial_state(memory)
        ends = Ends(len(limits))
        for position in range(int(limits.max())):
            features, state, weights = model.step(memory, state, tokens)
            backpointers.add(tokens, rows, weights)
            scores, tokens = (best.squeeze(1) for best in best_tokens(model, features, 1))
            totals = totals + scores
            ended = going & ((tokens == EOS) | (limits == position + 1))
            going = going ^ ended
            rows = every[: len(tokens)]
            ends.add(ended, sentences, rows, tokens, totals)
            if not is_decision(position, limits.device):
                continue
            kept = going.nonzero().squeeze(1)
            if not len(kept):
                break
            if len(kept) < len(going):
                memory, state = select_batch(memory, kept), select_batch(state, kept)
                sentences, limits, rows = sentences[kept], limits[kept], kept
                tokens, totals, going = tokens[kept], totals[kept], going[kept]
        return ends.by_sentence()


def is_decision(position: int, device: torch.device) -> bool:
    """Return whether sentences that have ended leave the batch after a step, counted from 0."""
    return (position + 1) % STEPS_TO_DECISION.get(device.type, GPU_STEPS) == 0


def best_tokens(model: EncoderDecoder, features: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities (float32) and ids of the best tokens, best first.

    PAD and BOS, which no target contains, are impossible. Both results are ``(rows, count)``, with
    fewer columns for a smaller vocabulary.

    Args:
        model: provides the logits.
        features: ``(rows, features)``.
        count: number of tokens for each row.
    """
    at_a_time = ROWS.get(features.device.type, GPU_ROWS)
    chunks = [_best_of(model.logits(rows), count) for rows in features.split(at_a_time)]
    best, tokens = (torch.cat(parts) for parts in zip(*chunks, strict=True))
    return best, tokens


def _best_of(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return ``best_tokens`` of ``logits`` ``(rows, vocabulary)``, which change in place."""
    logits = logits.float()
    for token in (PAD, BOS):  # a list of both would be copied to the device in each step
        logits[:, token].fill_(float("-inf"))
    best, tokens = top(logits, min(count, logits.shape[1]))
    largest = best[:, :1]
    # In place: copying the logits would cost more than the exponentials.
    total = logits.sub_(largest).exp_().sum(1, keepdim=True)
    return best - largest - total.log_(), tokens


def top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return ``values.topk(count)`` of ``(rows, columns)``, faster by a search of blocks.

    Only the blocks with the ``count`` largest maxima can hold one of the ``count`` largest values,
    and the maximum of a block is many times faster than ``topk`` of a row.
    """
    rows, columns = values.shape
    blocks = columns // BLOCK
    if count >= blocks:
        return values.topk(count)
    head = values[:, : blocks * BLOCK].unflatten(1, (blocks, BLOCK))
    chosen = head.amax(2).topk(count).indices
    inside = head.gather(1, chosen.unsqueeze(2).expand(-1, -1, BLOCK)).flatten(1)
    indices = (chosen.unsqueeze(2) * BLOCK + torch.arange(BLOCK, device=values.device)).flatten(1)
    rest = torch.arange(blocks * BLOCK, columns, device=values.device).expand(rows, -1)
    best, places = torch.cat([inside, values[:, blocks * BLOCK :]], 1).topk(count)
    return best, torch.cat([indices, rest], 1).gather(1, places)


def check_search(setting: str, search: Search, model: EncoderDecoder) -> None:
    """Translate two sources of different length, without a change of weights or random numbers.

    Args:
        setting: key and value of the configuration, for messages.
        search: the search to check.
        model: any variant, trained or not.

    Raises:
        UserError: for a search that raises an error, or that finds no hypothesis for a source.
    """
    name, was_training = type(search).__name__, model.training
    src = torch.tensor([[UNK, UNK, EOS], [UNK, EOS, PAD]], device=model.device)
    devices = [model.device] if model.device.type == "cuda" else []
    model.eval()
    try:
        with torch.random.fork_rng(devices):
            translated = search(model, src, src != PAD)
        counts = [len(hypotheses) for hypotheses in translated]
    except Exception as error:  # a user's class may raise anything
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserError(f"{setting}: {name} cannot translate: {why}") from error
    finally:
        model.train(was_training)
    if len(counts) != len(src) or 0 in counts:
        raise UserError(
            f"{setting}: {name} returns {counts} hypotheses for {len(src)} sources; "
            "return at least one hypothesis for each source"
        )
