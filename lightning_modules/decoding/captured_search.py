"""The step of a search as one recording, replayed for every position (on a GPU: a CUDA graph).

A step starts hundreds of kernels, each of which takes less time than its start. For a recording,
all that steps read and write lies in *buffers* of constant size. The numbers of sentences, source
positions and target positions are rounded up to a few sizes, so that most batches find the buffers
and recordings of earlier batches; what is added ends at once, or is masked. Every 8 steps the
processor reads what has ended. When half of many sentences have ended, the others move to the front
of the buffers, and a recording for half of the sentences takes over.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from lightning_utilities.core.apply_func import apply_to_collection
from torch import Tensor

from datamodules.errors import one_line
from lightning_modules.decoding.search import (
    STEPS_TO_REMOVAL,
    Backpointers,
    Ends,
    HypothesisEnd,
    Request,
    in_few_sizes,
)
from lightning_modules.kernels.choice import kernels_in_use, use_kernels
from lightning_modules.kernels.device import room_on
from lightning_modules.kernels.precision import autocasts
from lightning_modules.kernels.products import CastWeights
from lightning_modules.kernels.replay import (
    CapturableOperators,
    CudaGraphs,
    NotCapturableError,
    Recorder,
)
from lightning_modules.variants.base import EncoderDecoder, for_each_tensor, select_batch
from lightning_modules.variants.transformer.slots import Slots

if TYPE_CHECKING:
    from lightning_modules.decoding.stepped import SteppedSearch

log = logging.getLogger(__name__)

RECORDERS: dict[str, Callable[[torch.device], Recorder]] = {"cuda": CudaGraphs}
"""What records a step, by type of device."""
STEPS = STEPS_TO_REMOVAL["gpu"]
LEAST_ROOM = 32  # positions of the target; a step that reads fewer takes as long
LEAST_PREFIXES = 512  # a step with fewer takes as long


class Loop(NamedTuple):
    """What a step reads; in each tensor the sentence is the first dimension."""

    memory: Any
    prefixes: Any  # see `SteppedSearch`
    state: Any  # see `EncoderDecoder.constant_state`

    @property
    def written(self) -> tuple[Any, Any]:
        """What a step changes."""
        return self.prefixes, self.state


class Call(NamedTuple):
    """One call of the model's step; see ``Backpointers.add`` and ``Ends.add``."""

    tokens: Tensor
    rows: Tensor
    weights: Tensor | None
    chosen: tuple[Tensor, ...]


def captures(model: EncoderDecoder) -> bool:
    """Return whether searches with a model are captured, as far as known."""
    devices = {parameter.device for parameter in model.parameters()}
    return (
        kernels_in_use().captured_search and len(devices) == 1 and devices.pop().type in RECORDERS
    )


def find_ends(
    search: "SteppedSearch",
    model: EncoderDecoder,
    memory: Any,
    request: Request,
    backpointers: Backpointers,
) -> list[list[HypothesisEnd]] | None:
    """Return the ends of each sentence's hypotheses, as ``Ends.by_sentence`` does.

    Returns None, and says so once, for a model whose step cannot be captured.
    """
    recordings = _recordings.get(search)
    if recordings is None or not recordings.are_of(model):
        recordings = _recordings[search] = Recordings(model)
    try:
        calls = list(recordings.calls(search, model, memory, request, backpointers.keeps_weights))
    except Exception as error:  # a user's class may raise anything, and so may a capture
        use_kernels(kernels_in_use()._replace(captured_search=False))
        del _recordings[search]
        # The end of a failed capture fails too.
        cause = error.__context__ if isinstance(error.__context__, Exception) else error
        reason = f"{type(cause).__name__}: {one_line(cause)}"
        log.warning("the search with %s is not captured: %s", type(model).__name__, reason)
        return None
    sentences = len(request.limits)
    ends = Ends(in_few_sizes(sentences))
    for call in calls:
        backpointers.add(call.tokens, call.rows, call.weights)
        ends.add(*call.chosen)
    return ends.by_sentence()[:sentences]


class Recordings:
    """The buffers and recordings of one search with one model, the last used ones at the end."""

    def __init__(self, model: EncoderDecoder) -> None:
        self._model, self._places = id(model), places_of(model)
        self._recorder = RECORDERS[model.device.type](model.device)
        self._buffers: OrderedDict[Any, Buffers] = OrderedDict()
        self._cast = CastWeights(model)

    def are_of(self, model: EncoderDecoder) -> bool:
        """Return whether a model is the one that was recorded, its weights in the same places."""
        return id(model) == self._model and places_of(model) == self._places

    def calls(
        self,
        search: "SteppedSearch",
        model: EncoderDecoder,
        memory: Any,
        request: Request,
        keeps_weights: bool,
    ) -> Iterator[Call]:
        """Return the calls of the model's step for a batch; see ``Search.search``."""
        limits = request.limits
        longest, dtype = int(limits.max()), None
        if autocasts(limits):
            dtype = torch.get_autocast_dtype(limits.device.type)
            self._cast.renew(dtype)

        def compute(loop: Loop, position: Tensor) -> tuple[Loop, list[Tensor]]:
            with nullcontext() if dtype is None else self._cast.in_use():
                return step(search, model, loop, position, keeps_weights)

        memory, prefixes = in_whole_size(search, memory, request)
        sentences, positions = len(prefixes.tokens), in_few_sizes(longest)
        forms = [(tensor.shape, tensor.dtype) for tensor in tensors_in((memory, prefixes))]
        key = sentences, positions, keeps_weights, dtype, *forms

        def first_state() -> Any:
            state = model.constant_state(memory, search.beam_size, positions)
            return by_sentence(state, sentences)

        buffers = self._buffers.pop(key, None)
        if buffers is None:
            while self._buffers and self._bytes() > room_on(model.device):
                self._buffers.popitem(last=False)
            buffers = Buffers(self._recorder, compute, Loop(memory, prefixes, first_state()))
        else:
            buffers.restart(memory, prefixes, first_state)
        self._buffers[key] = buffers
        return buffers.calls(search, compute, longest)

    def _bytes(self) -> int:
        return sum(buffers.bytes for buffers in self._buffers.values())


def places_of(model: EncoderDecoder) -> list[int]:
    """Return where the weights of a model lie in memory."""
    return [parameter.data_ptr() for parameter in model.parameters()]


def in_whole_size(search: "SteppedSearch", memory: Any, request: Request) -> tuple[Any, Any]:
    """Return memory and first prefixes of a number of sentences ``in_few_sizes``.

    The last sentence is repeated; the repetitions end after one step.
    """
    limits = request.limits
    every = torch.arange(in_few_sizes(len(limits)), device=limits.device)
    filled, added = every.clamp(max=len(limits) - 1), every >= len(limits)
    memory, request = select_batch((memory, request), filled)
    limits = request.limits.masked_fill_(added, 1)
    return memory, search.first(request._replace(limits=limits))


Compute = Callable[[Loop, Tensor], tuple[Loop, list[Tensor]]]
"""``step`` of a search with a model."""


def step(
    search: "SteppedSearch",
    model: EncoderDecoder,
    loop: Loop,
    position: Tensor,
    keeps_weights: bool,
) -> tuple[Loop, list[Tensor]]:
    """Return the loop after the step at ``position`` ``()``, and what the step has chosen.

    The latter are ``ended``, ``rows``, ``tokens`` and ``totals`` of ``Ends.add``, and the weights.
    """
    before = loop.prefixes
    decoded = model.step(loop.memory, by_row(loop.state), before.tokens.flatten())
    prefixes, chosen = search.advance(model, before, decoded, position)
    state = decoded.state
    if prefixes.rows.dim() > 1:
        state = continued(state, prefixes.rows)
    results = [chosen.ended, chosen.rows, chosen.tokens, chosen.totals]
    if keeps_weights and decoded.weights is not None:
        results.append(decoded.weights)
    return Loop(loop.memory, prefixes, by_sentence(state, len(before.tokens))), results


class Buffers:
    """What the steps of batches of one shape read and write, and recordings of the step."""

    def __init__(self, recorder: Recorder, compute: Compute, start: Loop) -> None:
        """Keep the tensors of ``start``. Raises what ``compute`` raises."""
        self._recorder = recorder
        self._position = torch.zeros((), dtype=torch.long, device=start.prefixes.tokens.device)

        def check() -> tuple[Loop, list[Tensor]]:
            # A checked block would not be compiled.
            with torch.compiler.set_stance("force_eager"), CapturableOperators():
                return compute(start, self._position)

        after, _ = recorder.warm_up(check)
        # Under autocast, the states of steps may have another type than the first state.
        types = [tensor.dtype for tensor in tensors_in(after.written)]
        self._loop = Loop(start.memory, *with_own_memory(start.written, types, start.memory))
        self._recordings: dict[tuple[int, int], RecordedStep] = {}

    @property
    def bytes(self) -> int:
        """Memory of the buffers, without that of the recordings."""
        return sum(tensor.nbytes for tensor in tensors_in(self._loop))

    def restart(self, memory: Any, prefixes: Any, first_state: Callable[[], Any]) -> None:
        """Begin another batch of the same shape."""
        write((self._loop.memory, self._loop.prefixes), (memory, prefixes))
        state = self._loop.state
        if all(isinstance(part, Slots) for part in parts_of(state)):
            for tensor in tensors_in(state):  # without memory for a second state
                tensor.zero_()
        else:
            write(state, first_state())
        self._position.zero_()

    def calls(self, search: "SteppedSearch", compute: Compute, longest: int) -> Iterator[Call]:
        """Yield the calls of the model's step until all has ended, at most ``longest``."""
        sentences, position = len(self._loop.prefixes.tokens), 0
        while position < longest and sentences:
            steps = min(STEPS, longest - position)
            position += steps
            yield from self._recording(compute, sentences, position).calls(steps)
            sentences = self._remove_ended(search, sentences)

    def _recording(self, compute: Compute, sentences: int, positions: int) -> "RecordedStep":
        """Return a step of the first ``sentences``, at the first ``positions`` at least."""
        room = max(LEAST_ROOM, 1 << (positions - 1).bit_length())
        loop = self._first(sentences, room)
        rooms = [part.room for part in parts_of(loop.state) if isinstance(part, Slots)]
        key = sentences, max(rooms, default=0)
        if key not in self._recordings:
            self._recordings[key] = RecordedStep(self._recorder, compute, loop, self._position)
        return self._recordings[key]

    def _first(self, sentences: int, room: int) -> Loop:
        loop = for_each_tensor(self._loop, lambda tensor: tensor[:sentences])
        state = apply_to_collection(loop.state, Slots, lambda slots: slots.within(room))
        return Loop(loop.memory, loop.prefixes, state)

    def _remove_ended(self, search: "SteppedSearch", sentences: int) -> int:
        """Move what goes on to the front; return the number of sentences of the next steps."""
        loop = self._first(sentences, LEAST_ROOM)
        going = search.going(loop.prefixes).view(sentences, -1).any(1).cpu().numpy()
        kept, ended = np.flatnonzero(going), np.flatnonzero(~going)
        if not len(kept):
            return 0
        fewer = sentences
        while (
            fewer % 2 == 0
            and fewer // 2 >= len(kept)
            and fewer * loop.prefixes.tokens[0].numel() > LEAST_PREFIXES
        ):
            fewer //= 2
        if fewer < sentences:
            first = torch.from_numpy(np.concatenate([kept, ended])[:fewer])
            index = first.to(loop.prefixes.tokens.device)
            write(self._first(fewer, LEAST_ROOM), select_batch(loop, index))
        return fewer


class RecordedStep:
    """A step of some sentences, recorded, and what its last calls have chosen."""

    def __init__(self, recorder: Recorder, compute: Compute, loop: Loop, position: Tensor) -> None:
        """Record the step. Raises ``NotCapturableError`` if it changes shapes or types."""
        after, results = recorder.warm_up(lambda: compute(loop, position))
        for old, new in zip(tensors_in(loop.written), tensors_in(after.written), strict=True):
            if (old.shape, old.dtype) != (new.shape, new.dtype):
                raise NotCapturableError("each step changes the shape or the type of the state")
        self._prefixes = loop.prefixes
        self._results = [
            torch.empty(STEPS, *part.shape, dtype=part.dtype, device=part.device)
            for part in results
        ]

        def run() -> None:
            after, results = compute(loop, position)
            turn = position.remainder(STEPS).view(1)
            for kept, part in zip(self._results, results, strict=True):
                kept.index_copy_(0, turn, part.unsqueeze(0))
            write(loop.written, after.written)
            position.add_(1)

        self._replay = recorder.record(run).replay

    def calls(self, steps: int) -> Iterator[Call]:
        """Make so many steps, which begin at a multiple of ``STEPS``, and yield their calls."""
        before = self._prefixes
        tokens, rows, sentences = (
            part.clone() for part in (before.tokens, before.rows, before.sentences)
        )
        if rows.dim() > 1:
            sentences = sentences.unsqueeze(1).expand_as(rows)
        for _ in range(steps):
            self._replay()
        kept = [part[:steps].clone().unbind(0) for part in self._results]
        for ended, chosen_rows, chosen_tokens, totals, *weights in zip(*kept, strict=True):
            chosen = ended, sentences, chosen_rows, chosen_tokens, totals
            yield Call(tokens.flatten(), rows.flatten(), weights[0] if weights else None, chosen)
            tokens, rows = chosen_tokens, chosen_rows


def tensors_in(tree: Any) -> list[Tensor]:
    """Return the tensors of nested tuples, in their order."""
    found: list[Tensor] = []

    def append(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    for_each_tensor(tree, append)
    return found


def parts_of(state: Any) -> list[Tensor | Slots]:
    """Return the parts of a state: tensors, and ``Slots``, which order their rows themselves."""
    found: list[Tensor | Slots] = []
    for_each_part(state, found.append)
    return found


def for_each_part(state: Any, change: Callable[[Any], Any]) -> Any:
    """Return a state with ``change`` applied to every part."""
    return apply_to_collection(state, (Tensor, Slots), change)


def by_sentence(state: Any, sentences: int) -> Any:
    """Return tensors ``(sentences × beam, …)`` as ``(sentences, beam, …)``."""
    return for_each_part(
        state, lambda part: part if isinstance(part, Slots) else part.unflatten(0, (sentences, -1))
    )


def by_row(state: Any) -> Any:
    """Return tensors ``(sentences, beam, …)`` as ``(sentences × beam, …)``."""
    return for_each_part(
        state, lambda part: part if isinstance(part, Slots) else part.flatten(0, 1)
    )


def continued(state: Any, rows: Tensor) -> Any:
    """Return the state whose rows continue other rows, ``(sentences, beam)``."""
    flat = rows.flatten()
    return for_each_part(
        state,
        lambda part: (
            part.continued(rows) if isinstance(part, Slots) else part.index_select(0, flat)
        ),
    )


def with_own_memory(tree: Any, types: Iterable[torch.dtype], others: Any) -> Any:
    """Return a tree whose tensors have these types, and no memory in common with any other."""
    dtypes, taken = iter(types), {storage_of(tensor) for tensor in tensors_in(others)}

    def own(tensor: Tensor) -> Tensor:
        tensor = tensor.to(next(dtypes)).contiguous()
        if storage_of(tensor) in taken:
            tensor = tensor.clone()
        taken.add(storage_of(tensor))
        return tensor

    return for_each_tensor(tree, own)


def write(onto: Any, new: Any) -> None:
    """Copy the tensors of ``new`` to those of ``onto``, of which they may be views."""
    old = tensors_in(onto)
    storages = {storage_of(tensor) for tensor in old}
    pairs = []
    for tensor, values in zip(old, tensors_in(new), strict=True):
        in_place = tensor.data_ptr() == values.data_ptr() and tensor.stride() == values.stride()
        if not in_place:
            # Another tensor of the loop, which may be overwritten before it is copied.
            pairs.append((tensor, values.clone() if storage_of(values) in storages else values))
    for tensor, values in pairs:
        tensor.copy_(values)


def storage_of(tensor: Tensor) -> int:
    """Return where the memory of a tensor begins."""
    return tensor.untyped_storage().data_ptr()


_recordings: "WeakKeyDictionary[SteppedSearch, Recordings]" = WeakKeyDictionary()
