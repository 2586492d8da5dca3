"""One step of a loop as one function of ``torch.compile``, for all positions, lengths and batches.

A loop that is compiled whole would be another graph for every number of positions.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import torch
import torch.fx.experimental._config
from torch import Tensor
from torch._dynamo.exc import FailOnRecompileLimitHit, TorchDynamoException

from datamodules.errors import UserError
from lightning_modules.variants.base import for_each_tensor

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
State = TypeVar("State", bound=tuple[Any, ...])

MULTIPLE = 16
"""Sources are padded to multiples of so many positions, so that shapes repeat: CUDA graphs are kept
for each shape."""

CUDA_GRAPHS = ("reduce-overhead", "max-autotune")
"""Modes of ``torch.compile`` with CUDA graphs, which give all results of a step the same memory."""


def compile_step(step: Callable[Arguments, Result], **options: Any) -> Callable[Arguments, Result]:
    """Compile a step as one graph; ``options`` are those of ``torch.compile``.

    The compiled step raises ``UserError`` if ``torch.compile`` fails, as for a class of the user
    that decides by the numbers of a tensor.
    """
    torch._dynamo.config.allow_rnn = True  # a step only reads the weights of torch's RNNs
    # A batch of as many sentences as the source has positions is no reason for another graph.
    torch.fx.experimental._config.use_duck_shape = False
    compiled = torch.compile(step, fullgraph=True, **options)
    with_cuda_graphs = options.get("mode") in CUDA_GRAPHS

    @wraps(step)
    def run(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            result: Result = compiled(*for_each_tensor(arguments, _with_varying_sizes), **named)
        except (TorchDynamoException, FailOnRecompileLimitHit) as error:
            mode = options.get("mode", "default")
            raise UserError(f"compile={mode}: {_why(error)}; set compile=null") from error
        if with_cuda_graphs and not torch.is_grad_enabled():
            # The next step would write over the results that no backward pass needs.
            return for_each_tensor(result, torch.clone)
        return result

    return run


def _why(error: Exception) -> str:
    """Return the first line of torch's error, and the line of code to which it belongs."""
    reason = str(error).strip().partition("\n")[0].rstrip(".:")
    where = list(getattr(error, "real_stack", ()))[-1:]
    places = [f" ({Path(frame.filename).name}, line {frame.lineno})" for frame in where]
    return f"a step cannot be one graph of torch.compile: {reason}{''.join(places)}"


def _with_varying_sizes(tensor: Tensor) -> Tensor:
    """Let all sizes vary within one graph, but not the width of numbers, which layers fix."""
    sizes = tensor.dim() - tensor.is_floating_point()
    torch._dynamo.maybe_mark_dynamic(tensor, [*range(sizes)])
    return tensor


def first_state(state: State) -> State:
    """Return the state before the first step with the properties of later states: one graph.

    A later state is no view, is dense, and has a gradient if gradients are computed.
    """
    copied: State = for_each_tensor(state, _as_later)
    return copied


def _as_later(tensor: Tensor) -> Tensor:
    copy = tensor.clone(memory_format=torch.contiguous_format)
    return copy.requires_grad_(torch.is_grad_enabled()) if copy.is_floating_point() else copy


def inputs_of_steps(inputs: Tensor) -> list[Tensor]:
    """Split ``(batch, positions, width)``; no part is a view, whose place would vary."""
    return [position.clone(memory_format=torch.contiguous_format) for position in inputs.unbind(1)]
