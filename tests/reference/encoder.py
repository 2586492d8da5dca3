"""Recurrent encoders of one sentence, and the bridges from them to the decoder."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.reference import Parameters, affine, part
from tests.reference.cells import State, advance, fused, zeros


class EncoderOutput(NamedTuple):
    """An encoded source sentence."""

    states: list[np.ndarray]  # states in the order of the text
    last: list[list[State]]  # last states of each layer: left to right, then right to left


def encode(
    parameters: Parameters, settings: Mapping[str, Any], embedded: Sequence[np.ndarray]
) -> EncoderOutput:
    """Read a sentence whose last token is EOS."""
    options = settings["encoder"]
    sequence = list(embedded)
    if options.get("reverse_source"):
        sequence = mirrored(sequence)
    last = []
    for layer in range(settings["layers"]):
        directions = [
            run(settings["cell"], parameters, layer, backward, sequence, options["hidden_size"])
            for backward in ((False, True) if options.get("bidirectional") else (False,))
        ]
        states = [states for states, _ in directions]
        sequence = [np.concatenate(beside) for beside in zip(*states, strict=True)]
        last.append([end for _, end in directions])
    if options.get("bidirectional") and options.get("merge", "concat") == "sum":
        sequence = [np.add(*np.split(state, 2)) for state in sequence]
    if options.get("reverse_source"):
        sequence = mirrored(sequence)
    return EncoderOutput(sequence, last)


def mirrored(sequence: list[np.ndarray]) -> list[np.ndarray]:
    """Reverse a sentence; EOS stays last."""
    return [*reversed(sequence[:-1]), sequence[-1]]


def run(
    cell: str,
    parameters: Parameters,
    layer: int,
    backward: bool,
    inputs: list[np.ndarray],
    hidden_size: int,
) -> tuple[list[np.ndarray], State]:
    """Run one layer in one direction: the hidden state at each position, and the last state."""
    if cell == "gru_2014":
        mine = part(parameters, f"layers.{layer}.{int(backward)}.cells.0")
    else:
        mine = fused(parameters, layer, backward)
    state = zeros(cell, hidden_size)
    states = [state.hidden] * len(inputs)
    positions = range(len(inputs))
    for position in reversed(positions) if backward else positions:
        state = advance(cell, mine, inputs[position], state)
        states[position] = state.hidden
    return states, state


def summarise(parameters: Parameters, encoded: EncoderOutput) -> np.ndarray:
    """Cho et al. 2014, A.1.1: ``c = tanh(V h_T)``."""
    return np.tanh(affine(parameters, "summary", encoded.last[-1][0].hidden))


def start(
    parameters: Parameters,
    settings: Mapping[str, Any],
    encoded: EncoderOutput,
    summary: np.ndarray | None,
) -> list[State]:
    """Return the first state of each decoder layer; ``parameters`` are the model's."""
    return [start_layer(parameters, settings, ends, summary) for ends in encoded.last]


def start_layer(
    parameters: Parameters,
    settings: Mapping[str, Any],
    ends: list[State],
    summary: np.ndarray | None,
) -> State:
    """Return the first state of one decoder layer."""
    bridge = settings["bridge"]
    if bridge == "copy":
        sums = settings["encoder"].get("merge", "concat") == "sum"
        join = (lambda parts: np.sum(parts, 0)) if sums else np.concatenate
        cells = [end.cell for end in ends if end.cell is not None]
        return State(join([end.hidden for end in ends]), join(cells) if cells else None)
    if bridge == "summary":
        assert summary is not None
        taken = summary
    elif bridge == "backward":
        taken = ends[1].hidden
    else:
        assert bridge == "dense"
        taken = np.concatenate([end.hidden for end in ends])
    cell = None
    if settings["cell"] == "lstm":
        cell = np.tanh(affine(parameters, "bridge.cell", taken))
    return State(np.tanh(affine(parameters, "bridge.hidden", taken)), cell)
