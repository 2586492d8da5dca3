"""What a search is, and the greedy one."""

from abc import ABC, abstractmethod
from typing import Annotated, Any, NamedTuple

import torch
from pydantic import Field, validate_call
from torch import Tensor

from datamodules.tokenization import BOS, EOS, PAD
from lightning_modules.decoding.trellis import End, Trellis
from lightning_modules.variants.base import EncoderDecoder, select_batch

NonNegativeFloat = Annotated[float, Field(ge=0)]
NonNegativeInt = Annotated[int, Field(ge=0)]
BLOCK = 64
"""Columns that ``top`` looks at together."""
ROWS = 512
"""Hypotheses whose logits exist at the same time."""


class Hypothesis(NamedTuple):
    """One translation of one sentence."""

    tokens: list[int]
    """Target tokens, EOS last unless the length limit cut them."""
    score: float
    """Log-probability of the tokens, divided by the length penalty if there is one."""
    weights: Tensor | None
    """Attention weights ``(tokens, src)`` on the CPU, as wide as the sentence's batch; None for a
    model without attention."""


class Search(ABC):
    """Finds translations with any ``EncoderDecoder``.

    Args:
        max_ratio: with ``max_extra``, the longest hypothesis for a source of S tokens (EOS
            counted): ``max_ratio · S + max_extra`` tokens.
        max_extra: see ``max_ratio``.
        bf16: multiply in bfloat16, whatever the trainer's precision.
    """

    def __init__(self, max_ratio: float, max_extra: int, bf16: bool) -> None:
        self.max_ratio = max_ratio
        self.max_extra = max_extra
        self.bf16 = bf16

    @torch.no_grad()
    def __call__(
        self, model: EncoderDecoder, src: Tensor, src_mask: Tensor
    ) -> list[list[Hypothesis]]:
        """Translate ``(batch, src)``: for each sentence its hypotheses, best first.

        ``model`` must be in evaluation mode.
        """
        if not self.bf16:
            return self._translate(model, src, src_mask)
        with torch.autocast(src.device.type, torch.bfloat16):
            return self._translate(model, src, src_mask)

    def _translate(
        self, model: EncoderDecoder, src: Tensor, src_mask: Tensor
    ) -> list[list[Hypothesis]]:
        limits = (self.max_ratio * src_mask.sum(1) + self.max_extra).long().clamp(min=1)
        limits = limits.to(model.output.weight.device)  # where logits come; all else follows
        trellis = Trellis()
        ends = self.search(model, model.encode(src, src_mask), limits, trellis)
        paths = iter(trellis.trace([end for sentence in ends for end in sentence]))
        return [
            [
                Hypothesis(tokens, end.score, weights)
                for end in sentence
                for tokens, weights in [next(paths)]
            ]
            for sentence in ends
        ]

    @abstractmethod
    def search(
        self, model: EncoderDecoder, memory: Any, limits: Tensor, trellis: Trellis
    ) -> list[list[End]]:
        """Walk from an encoded source, recording each call of the model in ``trellis``.

        Args:
            model: in evaluation mode.
            memory: the encoded source.
            limits: ``(batch,)``, the most tokens of each hypothesis.
            trellis: empty.

        Returns:
            For each sentence the ends of its hypotheses, best first.
        """


class GreedySearch(Search):
    """Take the most probable token at every step; a finished sentence leaves the batch."""

    @validate_call
    def __init__(
        self,
        max_ratio: NonNegativeFloat = 1.5,
        max_extra: NonNegativeInt = 10,
        bf16: bool = False,
    ) -> None:
        super().__init__(max_ratio, max_extra, bf16)

    def search(
        self, model: EncoderDecoder, memory: Any, limits: Tensor, trellis: Trellis
    ) -> list[list[End]]:
        """See the base class."""
        sentences = rows = torch.arange(len(limits), device=limits.device)
        tokens = torch.full_like(limits, BOS)
        totals = torch.zeros(len(limits), device=limits.device)
        state = model.initial_state(memory)
        ends: list[list[End]] = [[] for _ in limits]
        for position in range(int(limits.max())):
            features, state, weights = model.step(memory, state, tokens)
            trellis.add(tokens, rows, weights)
            scores, tokens = (best.squeeze(1) for best in best_tokens(model, features, 1))
            totals = totals + scores
            over = (tokens == EOS) | (limits == position + 1)
            for row in over.nonzero().squeeze(1).tolist():
                end = End(position, row, int(tokens[row]), float(totals[row]))
                ends[int(sentences[row])].append(end)
            rows = (~over).nonzero().squeeze(1)
            if not len(rows):
                break
            if len(rows) < len(over):
                sentences, limits = sentences[rows], limits[rows]
                tokens, totals = tokens[rows], totals[rows]
                memory, state = select_batch(memory, rows), select_batch(state, rows)
        return ends


def best_tokens(model: EncoderDecoder, features: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities in float32 and the numbers of the best tokens, best first.

    PAD and BOS, which no target contains, are impossible. Both results are ``(rows, count)``, with
    fewer columns for a vocabulary of fewer tokens.

    Args:
        model: has the output layer.
        features: ``(rows, features)``.
        count: tokens wanted for each row.
    """
    found = [_best_of(model.logits(rows), count) for rows in features.split(ROWS)]
    best, tokens = (torch.cat(parts) for parts in zip(*found, strict=True))
    return best, tokens


def _best_of(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """See ``best_tokens``; spoils ``logits`` ``(rows, vocabulary)``."""
    logits = logits.float()
    logits[:, [PAD, BOS]] = float("-inf")
    best, tokens = top(logits, min(count, logits.shape[1]))
    largest = best[:, :1]
    # In place: a copy of the logits would cost more than the exponentials.
    total = logits.sub_(largest).exp_().sum(1, keepdim=True)
    return best - largest - total.log_(), tokens


def top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """``values.topk(count)`` of ``(rows, columns)``, by way of the blocks that hold them.

    The largest of a block are found many times faster than the largest of a row: only the blocks
    with the ``count`` largest maxima can hold one of the ``count`` largest values.
    """
    rows, columns = values.shape
    blocks = columns // BLOCK
    if count >= blocks:
        return values.topk(count)
    head = values[:, : blocks * BLOCK].unflatten(1, (blocks, BLOCK))
    chosen = head.amax(2).topk(count).indices
    inside = head.gather(1, chosen.unsqueeze(2).expand(-1, -1, BLOCK)).flatten(1)
    numbers = (chosen.unsqueeze(2) * BLOCK + torch.arange(BLOCK, device=values.device)).flatten(1)
    rest = torch.arange(blocks * BLOCK, columns, device=values.device).expand(rows, -1)
    best, places = torch.cat([inside, values[:, blocks * BLOCK :]], 1).topk(count)
    return best, torch.cat([numbers, rest], 1).gather(1, places)
