"""Updates whose forward and backward pass is recorded for each shape of a batch, then replayed.

The optimizer, the clipping of gradients and the schedule stay outside: they are the trainer's.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from lightning_modules.kernels.choice import kernels_in_use, use_kernels
from lightning_modules.kernels.replay import (
    CapturableOperators,
    CudaGraphs,
    NotCapturableError,
    Recorded,
    Recorder,
)

log = logging.getLogger(__name__)
MOST = 128
"""Shapes that are recorded, each with memory for its graph; batches of others are run."""
Loss = Callable[..., Tensor]
"""Computes the loss ``()`` of an update from tensors that have one shape each."""


class Update(NamedTuple):
    """What an update has computed."""

    loss: Tensor  # `()`, without graph
    gradients: Sequence[Tensor | None]  # of each parameter; None for those that the loss lacks


class CapturedUpdates:
    """The updates of a model, recorded where their shape has come before.

    The first update of a shape is run as it is: it loads and compiles the kernels of this shape.
    The second is recorded and replayed, and so are all further ones. Recordings share the memory of
    ``make_recorder``'s. If one fails, updates are run from then on, with one line in the log.
    """

    def __init__(
        self,
        loss: Loss,
        model: nn.Module,
        device: torch.device,
        make_recorder: Callable[[torch.device], Recorder] = CudaGraphs,
    ) -> None:
        self._loss = loss
        self._parameters = list(model.parameters())
        self._recorder = make_recorder(device)
        self._recorded: dict[object, Recorded[Update] | None] | None = {}
        self._state: list[tuple[bool, int]] = []  # of each parameter: whether trained, and place
        self._places: dict[int, Tensor] = {}
        self._gradients: Sequence[Tensor | None] = []
        self._checked = False

    def reserve(self, inputs: Sequence[Tensor]) -> None:
        """Record the largest shape, so that all others find room in its memory."""
        for _ in range(2):
            self.prepare(inputs)()

    def prepare(self, inputs: Sequence[Tensor]) -> Callable[[], Tensor]:
        """Return what computes the loss ``()`` and the gradients of an update; see ``attach``.

        Recordings happen here, and draw numbers: seed the draws before the call of the result.
        """
        self._check(inputs)
        self._forget_if_changed()
        run = partial(self._run, inputs)
        if self._recorded is None:
            return run
        shape = tuple(tensor.shape for tensor in inputs)
        if shape not in self._recorded:
            if len(self._recorded) < MOST:
                self._recorded[shape] = None
            return run
        recorded = self._recorded[shape]
        if recorded is None:
            try:
                recorded = Recorded(self._recorder, self._compute_in_place, inputs)
            except Exception as error:  # whatever a model or a library does not allow in a graph
                self._give_up(error)
                return run
            self._recorded[shape] = recorded
        return partial(self._replay, recorded, inputs)

    def attach(self) -> None:
        """Give the parameters the gradients of the last update."""
        for parameter, gradient in zip(self._parameters, self._gradients, strict=True):
            parameter.grad = gradient

    def _run(self, inputs: Sequence[Tensor]) -> Tensor:
        update = self._recorder.warm_up(partial(self._compute, *inputs))
        self._gradients = update.gradients
        return update.loss

    def _replay(self, recorded: Recorded[Update], inputs: Sequence[Tensor]) -> Tensor:
        update = recorded(*inputs)
        self._gradients = update.gradients
        return update.loss.clone()

    def _compute(self, *inputs: Tensor) -> Update:
        for parameter in self._parameters:
            parameter.grad = None
        loss = self._loss(*inputs)
        with torch.autocast(loss.device.type, enabled=False):  # as in Lightning's backward pass
            loss.backward()
        gradients = [parameter.grad for parameter in self._parameters]
        for parameter in self._parameters:
            parameter.grad = None
        return Update(loss.detach(), gradients)

    def _compute_in_place(self, *inputs: Tensor) -> Update:
        """Compute an update; all recordings leave their gradients where the first leaves them."""
        update = self._compute(*inputs)
        for number, gradient in enumerate(update.gradients):
            if gradient is not None:
                place = self._places.setdefault(number, gradient)
                if place is not gradient:
                    place.copy_(gradient)
        kept = [
            None if gradient is None else self._places[number]
            for number, gradient in enumerate(update.gradients)
        ]
        return Update(update.loss, kept)

    def _check(self, inputs: Sequence[Tensor]) -> None:
        """Run the first update once with a check: not every model can be recorded."""
        if self._checked:
            return
        self._checked = True

        def compute() -> None:
            # A checked block would not be compiled.
            with torch.compiler.set_stance("force_eager"), CapturableOperators():
                self._compute(*inputs)

        try:
            self._recorder.warm_up(compute)
        except NotCapturableError as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        cause = error.__context__ or error  # the end of a failed capture fails too
        reason = str(cause).strip().splitlines() or [type(cause).__name__]
        log.info("updates run without CUDA graphs (capture=false): %s", reason[0])
        use_kernels(kernels_in_use()._replace(capture=False))
        self._recorded = None
        self._places.clear()

    def _forget_if_changed(self) -> None:
        """Forget the recordings if a callback has frozen or moved weights."""
        state = [(each.requires_grad, each.data_ptr()) for each in self._parameters]
        if self._recorded and self._state != state:
            self._recorded.clear()
            self._places.clear()
        self._state = state
