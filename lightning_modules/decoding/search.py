"""The interface of a search, its best tokens, and the way back from the end of each hypothesis."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from datamodules.errors import UserError, one_line
from datamodules.plugs import in_own_file
from datamodules.tokenization import BOS, EOS, PAD, UNK, Tokenizer
from lightning_modules.attention.build import exact_shapes
from lightning_modules.kernels.choice import computes_by_rows
from lightning_modules.kernels.precision import search_autocast
from lightning_modules.kernels.products import packed_weights
from lightning_modules.variants.base import EncoderDecoder, for_each_tensor, move

IMPOSSIBLE = (PAD, BOS)  # the first tokens of a vocabulary, which no target contains
MOST_BY_ROWS = 16  # number of best tokens that a kernel finds, which reads a row once for each
BLOCK = 64  # number of columns per block in `top`
ROWS = {"cpu": 512, "gpu": 8192}
"""Hypotheses whose logits are in memory at a time; on a GPU, more rows need fewer kernels."""
STEPS_TO_REMOVAL = {"cpu": 1, "gpu": 8}
"""Steps of a search until what has ended leaves the batch, for which the processor waits for a
GPU."""
BEYOND = 5  # how far `try_model` decodes beyond a window at the end of a source


class Request(NamedTuple):
    """What a search is asked for in each sentence of a batch, on the device of the logits."""

    limits: Tensor  # longest lengths in tokens, EOS included, `(batch,)`
    src: Tensor  # source tokens, as for `EncoderDecoder.encode`, `(batch, src)`
    src_mask: Tensor  # True where a source token is real, `(batch, src)`
    prefix: Tensor | None
    """Tokens that each translation must begin with, ``(batch, tokens)``, PAD after them; None for
    no such tokens."""


class HypothesisEnd(NamedTuple):
    """The end of one hypothesis."""

    step: int  # number of the last call of the model's step, from 0
    row: int  # row of the hypothesis in that call
    token: int  # last token, chosen in that call
    score: float


class Hypothesis(NamedTuple):
    """One translation of one sentence."""

    tokens: list[int]  # target tokens, EOS last unless the length limit cuts the hypothesis
    score: float
    """Log-probability of the tokens, or what the search ranks by: see its class."""
    weights: Tensor | None
    """Attention weights ``(tokens, src)`` on the CPU, padded as the source batch; None for a model
    without attention, or where nothing reads them."""


class Backpointers:
    """For each call of the model's step and each row of the call, the row of the call before.

    All records stay on the device until ``trace``. Weights are recorded if ``keeps_weights``.
    """

    def __init__(self, keeps_weights: bool = True) -> None:
        self.keeps_weights = keeps_weights
        self._tokens: list[Tensor] = []
        self._parents: list[Tensor] = []
        self._weights: list[Tensor] = []

    def add(self, last_tokens: Tensor, parents: Tensor, weights: Tensor | None) -> None:
        """Record one call of the model's step.

        Args:
            last_tokens: token that each row has read, ``(rows,)``.
            parents: row of the call before that each row continues, ``(rows,)``.
            weights: attention weights, ``(rows, src)``; None for a model without attention.
        """
        self._tokens.append(last_tokens)
        self._parents.append(parents)
        if weights is not None and self.keeps_weights:
            self._weights.append(weights)

    def trace(self, ends: Sequence[HypothesisEnd]) -> list[tuple[list[int], Tensor | None]]:
        """Return the tokens of each hypothesis and their weights ``(tokens, src)``, on the CPU."""
        if not ends:
            return []
        tokens, rows = self._paths(ends)
        return list(zip(tokens, self._weights_at(rows), strict=True))

    def tokens(self, ends: Sequence[HypothesisEnd]) -> list[list[int]]:
        """Return the tokens of each hypothesis."""
        return self._paths(ends)[0] if ends else []

    def _paths(self, ends: Sequence[HypothesisEnd]) -> tuple[list[list[int]], NDArray]:
        """Return the tokens of each hypothesis, and its rows ``(calls, hypotheses)``."""
        sizes = np.cumsum([len(tokens) for tokens in self._tokens])[:-1]
        last_tokens, parents = (
            np.split(on_host(column), sizes) for column in (self._tokens, self._parents)
        )
        steps, every = np.array([end.step for end in ends]), np.arange(len(ends))
        rows = np.full((steps.max() + 1, len(ends)), -1)  # -1 after the end of a hypothesis
        tokens = rows.copy()
        rows[steps, every] = [end.row for end in ends]
        tokens[steps, every] = [end.token for end in ends]
        for step in range(len(rows) - 1, 0, -1):
            going = rows[step] >= 0
            tokens[step - 1, going] = last_tokens[step][rows[step, going]]
            rows[step - 1, going] = parents[step][rows[step, going]]
        return [tokens[: step + 1, number].tolist() for number, step in enumerate(steps)], rows

    def _weights_at(self, rows: NDArray) -> Sequence[Tensor | None]:
        """Return the weights at ``rows`` ``(calls, hypotheses)``; -1 for no row.

        The weights of these rows alone are put together: a copy of all would double the memory.
        """
        if not self._weights:
            return [None] * rows.shape[1]
        present = rows >= 0
        # The rows of each call, (hypotheses that have not ended,).
        device = self._weights[0].device
        of_calls = torch.from_numpy(rows[present]).to(device).split(present.sum(1).tolist())
        # Their weights, call after call, (tokens of all hypotheses, src).
        pairs = zip(self._weights, of_calls, strict=False)
        by_call = torch.cat([weights.index_select(0, chosen) for weights, chosen in pairs])
        by_call = by_call.cpu().float()
        # Where the tokens of each hypothesis stand in by_call, hypothesis after hypothesis.
        order = torch.from_numpy(np.argsort(present.nonzero()[1], kind="stable"))
        of_hypotheses = order.split(present.sum(0).tolist())
        return [by_call.index_select(0, places) for places in of_hypotheses]


def on_host(column: Sequence[Tensor]) -> NDArray:
    """Return the numbers of all tensors in a row, by one copy."""
    numbers: NDArray = torch.cat([part.flatten() for part in column]).cpu().numpy()
    return numbers


class Ends:
    """The hypotheses that end in each step; records stay on the device until ``by_sentence``."""

    def __init__(self, sentences: int) -> None:
        self._sentences = sentences
        self._steps: list[tuple[Tensor, ...]] = []

    def add(
        self, ended: Tensor, sentences: Tensor, rows: Tensor, tokens: Tensor, scores: Tensor
    ) -> None:
        """Record one step, as in ``HypothesisEnd``, and the number of each sentence in the batch.

        ``ended`` is True where a hypothesis ends. All are ``(rows,)`` or ``(sentences, beam)``.
        """
        self._steps.append((ended, sentences, rows, tokens, scores))

    def by_sentence(self) -> list[list[HypothesisEnd]]:
        """Return the ends of each sentence, in the order of steps and then of rows."""
        ended, sentences, *others = map(on_host, zip(*self._steps, strict=True))
        sizes = [step[0].numel() for step in self._steps]
        columns = (sentences, np.repeat(np.arange(len(sizes)), sizes), *others)
        ends: list[list[HypothesisEnd]] = [[] for _ in range(self._sentences)]
        for sentence, *end in zip(*(column[ended].tolist() for column in columns), strict=True):
            ends[sentence].append(HypothesisEnd(*end))
        return ends


class Search(ABC):
    """Finds translations with any ``EncoderDecoder``.

    A hypothesis for a source of S tokens (EOS included) has at most ``max_ratio · S + max_extra``
    tokens. The three constraints are those of ``SteppedSearch``, which any other search refuses.

    Args:
        max_ratio: target tokens per source token.
        max_extra: further target tokens.
        min_length: tokens before which EOS does not come; the length limit still holds. None for
            no such number.
        no_repeat_ngram: length of the n-grams that no hypothesis repeats; None for repetitions.
        length: ``reference`` for hypotheses exactly as long as the reference; None for any length.
        bf16: multiply in bfloat16, independent of the trainer's precision.
        int8: multiply in integers of eight bits, on a CPU.

    Raises ``ValueError`` for settings that do not fit together.
    """

    constrains = False
    """Whether the class respects ``min_length``, ``no_repeat_ngram``, ``length`` and prefixes."""

    def __init__(
        self,
        max_ratio: float,
        max_extra: int,
        min_length: int | None,
        no_repeat_ngram: int | None,
        length: Literal["reference"] | None,
        bf16: bool,
        int8: bool,
    ) -> None:
        if bf16 and int8:
            raise ValueError("decoding.int8=true: cannot be used with decoding.bf16=true")
        if length == "reference" and min_length:
            raise ValueError(
                f"decoding.min_length={min_length}: decoding.length=reference gives the length; "
                "leave one of them out"
            )
        self.max_ratio = max_ratio
        self.max_extra = max_extra
        self.min_length = min_length
        self.no_repeat_ngram = no_repeat_ngram
        self.length = length
        self.bf16 = bf16
        self.int8 = int8
        constraints = {
            "min_length": min_length,
            "no_repeat_ngram": no_repeat_ngram,
            "length": length,
        }
        for setting, value in constraints.items():
            if value is not None and not self.constrains:
                raise ValueError(
                    f"decoding.{setting}={value}: {type(self).__name__} does not respect it; set "
                    f"decoding.{setting}=null"
                )

    def prepare(self, model: EncoderDecoder, target: Tokenizer) -> None:
        """Take what the search needs besides batches, before any; ``target`` cuts target text.

        Raises ``UserError`` for a model that the search cannot use.
        """
        return

    @torch.no_grad()
    def __call__(
        self,
        model: EncoderDecoder,
        src: Tensor,
        src_mask: Tensor,
        *,
        need_weights: bool = True,
        lengths: Tensor | None = None,
        prefix: Tensor | None = None,
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each sentence, best first, by a model in evaluation mode.

        Args:
            model: in evaluation mode.
            src: as for ``EncoderDecoder.encode``.
            src_mask: as for ``EncoderDecoder.encode``.
            need_weights: False for hypotheses without weights, which take much memory.
            lengths: tokens of the references, EOS included, ``(batch,)``; read for
                ``length=reference`` alone.
            prefix: tokens that each translation must begin with, ``(batch, tokens)``, PAD after
                them; they count as tokens of the hypothesis, and never make it end.

        Raises ``UserError`` for ``length=reference`` without references, and for a prefix if the
        class respects none.
        """
        if self.bf16:
            with search_autocast(src.device):
                return self._translate(model, src, src_mask, need_weights, lengths, prefix)
        with packed_weights(model, self.int8):
            return self._translate(model, src, src_mask, need_weights, lengths, prefix)

    def _translate(
        self,
        model: EncoderDecoder,
        src: Tensor,
        src_mask: Tensor,
        need_weights: bool,
        lengths: Tensor | None,
        prefix: Tensor | None,
    ) -> list[list[Hypothesis]]:
        width = src.shape[1]
        limits = self._limits(src_mask, lengths, prefix)
        src, src_mask = self.padded(model, src, src_mask)
        request = Request(limits, src, src_mask, prefix)
        backpointers = Backpointers(need_weights)
        memory = self.encode(model, src, src_mask)
        ends = self.search(model, memory, move(request, model.device), backpointers)
        paths = iter(backpointers.trace([end for sentence in ends for end in sentence]))

        def hypothesis(end: HypothesisEnd) -> Hypothesis:
            tokens, weights = next(paths)
            weights = None if weights is None else weights[:, :width]
            return Hypothesis(tokens, end.score, weights)

        return [[hypothesis(end) for end in sentence] for sentence in ends]

    def _limits(self, src_mask: Tensor, lengths: Tensor | None, prefix: Tensor | None) -> Tensor:
        if prefix is not None and not self.constrains:
            raise UserError(f"prefix=: {type(self).__name__} respects none; set decoding=beam")
        if self.length == "reference":
            if lengths is None:
                raise UserError(
                    "decoding.length=reference: there are no references here; set "
                    "decoding.length=null"
                )
            return lengths.to(src_mask.device)
        limits = self.longest(src_mask.sum(1))
        if prefix is not None:  # and at least one token more
            limits = limits.maximum((prefix != PAD).sum(1).to(limits.device) + 1)
        return limits

    def padded(self, model: EncoderDecoder, src: Tensor, src_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the source and its mask, maybe with more padding."""
        return src, src_mask

    def encode(self, model: EncoderDecoder, src: Tensor, src_mask: Tensor) -> Any:
        """Return the memory of a source."""
        # Every step reads the memory: as torch multiplies it, without a copy in each step.
        return for_each_tensor(model.encode(src, src_mask), Tensor.contiguous)

    def longest(self, lengths: Tensor) -> Tensor:
        """Return the length limits, in tokens, for sources of these lengths, ``(batch,)``."""
        return (self.max_ratio * lengths + self.max_extra).long().clamp(min=1)

    @abstractmethod
    def search(
        self, model: EncoderDecoder, memory: Any, request: Request, backpointers: Backpointers
    ) -> list[list[HypothesisEnd]]:
        """Return the ends of each sentence's hypotheses, best first.

        Args:
            model: in evaluation mode.
            memory: the encoded source.
            request: the length limit of each sentence, and what else is asked for.
            backpointers: empty; record each call of ``model.step`` here.
        """


def in_few_sizes(size: int) -> int:
    """Return the next number of the form 2ⁿ or 3 · 2ⁿ, at least 8."""
    power = 1 << max(3, (size - 1).bit_length())
    return 3 * power // 4 if power > 8 and size <= 3 * power // 4 else power


def removes_ended(position: int, device: torch.device) -> bool:
    """Return whether sentences that have ended leave the batch after a step, counted from 0."""
    return (position + 1) % STEPS_TO_REMOVAL[_kind(device)] == 0


def _kind(device: torch.device) -> str:
    return "cpu" if device.type == "cpu" else "gpu"


def best_tokens(model: EncoderDecoder, features: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities (float32) and ids of the best tokens, best first.

    ``IMPOSSIBLE`` tokens are left out. ``features`` are ``(rows, features)``,
    both results ``(rows, count)``, with fewer columns for a smaller vocabulary.
    """
    chunks = [_best_of(model.logits(features[part]), count) for part in row_parts(features)]
    best, tokens = (torch.cat(parts) for parts in zip(*chunks, strict=True))
    return best, tokens


def row_parts(rows: Tensor) -> Iterator[slice]:
    """Yield slices of as many rows as may have their logits in memory at a time."""
    size = ROWS[_kind(rows.device)]
    for start in range(0, max(len(rows), 1), size):
        yield slice(start, start + size)


def token_log_probabilities(model: EncoderDecoder, features: Tensor) -> Tensor:
    """Return the log-probabilities (float32) of all tokens, ``(rows, vocabulary)``.

    ``IMPOSSIBLE`` tokens have probability 0. ``features`` are ``(rows, features)``.
    """
    logits = model.logits(features).float()
    for token in IMPOSSIBLE:
        logits[:, token].fill_(float("-inf"))
    return logits.log_softmax(1)


def _best_of(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return ``best_tokens`` of ``logits`` ``(rows, vocabulary)``, which may change in place."""
    count = min(count, logits.shape[1])
    if computes_by_rows(logits) and count <= MOST_BY_ROWS:
        from lightning_modules.kernels.row_kernels import best_of_rows

        return best_of_rows(logits, count, len(IMPOSSIBLE))
    logits = logits.float()
    for token in IMPOSSIBLE:  # a list of both would be copied to the device in each step
        logits[:, token].fill_(float("-inf"))
    best, tokens = top(logits, count)
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


def try_model(
    setting: str,
    model: EncoderDecoder,
    search: Search | None = None,
    target: Tokenizer | None = None,
) -> None:
    """Try classes of a user on three short sources: a search, or without one, given targets.

    With a tokenizer of the ``target`` language, the search is prepared for the model first.
    Weights, random numbers and the mode of the model stay as they are.

    Raises:
        UserError: begins with ``setting``; for an error, for numbers that are not finite, or for a
            source without a hypothesis.
    """
    limit = model.limit()
    # Batch, source and target differ in size, so that no wrong shape fits by chance.
    rows = [[UNK, UNK, UNK, EOS], [UNK, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]]
    longest = BEYOND + len(rows[0]) + max(getattr(m, "half_width", 0) for m in model.modules())
    if limit is not None:
        rows = [row[: limit.src_tokens] for row in rows]
        longest = min(longest, limit.tgt_tokens or longest)
    src = torch.tensor(rows, device=model.device)
    tgt = torch.full((len(rows), longest), UNK, device=model.device)
    try:
        with undisturbed(model):
            if search is None:
                with exact_shapes(model):
                    decoded = model.decode(model.encode(src, src != PAD), tgt)
                if not model.logits(decoded.features).isfinite().all():
                    raise ValueError(
                        "the numbers are not finite; a window must leave each query a real source "
                        "position (docs/how_to/extend/window.md)"
                    )
            else:
                if target is not None:
                    search.prepare(model, target)
                mask = src != PAD
                found = search(model, src, mask, lengths=mask.sum(1))
                counts = [len(hypotheses) for hypotheses in found]
                if len(counts) != len(src) or 0 in counts:
                    raise ValueError(
                        f"{counts} hypotheses for {len(src)} sources; find some for each"
                    )
    except Exception as error:  # a user's class may raise anything
        why = in_own_file(error) or f"{type(error).__name__}: {one_line(error)}"
        raise UserError(f"{setting}: fails on three short sentences: {why}") from error


@contextmanager
def undisturbed(model: EncoderDecoder) -> Iterator[None]:
    """Compute in evaluation mode; random numbers and the mode of the model stay as they are."""
    was_training = model.training
    model.eval()
    try:
        devices = [model.device] if model.device.type == "cuda" else []
        with torch.random.fork_rng(devices), torch.no_grad():
            yield
    finally:
        model.train(was_training)


def attends(model: EncoderDecoder) -> bool:
    """Return whether the steps of a model give attention weights."""
    src = torch.tensor([[UNK, EOS]], device=model.device)
    with undisturbed(model):
        memory = model.encode(src, src != PAD)
        step = model.step(memory, model.initial_state(memory), torch.full_like(src[:, 0], BOS))
    return step.weights is not None
