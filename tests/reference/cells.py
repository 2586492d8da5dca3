"""One step of one recurrent layer: ``(x, (h, c)) -> (h, c)``; c is None without a cell state."""

from typing import NamedTuple

import numpy as np

from tests.reference import Parameters, part


class State(NamedTuple):
    """State of one layer."""

    hidden: np.ndarray
    cell: np.ndarray | None


def sigmoid(x: np.ndarray) -> np.ndarray:
    """``1 / (1 + e^-x)``."""
    return 1 / (1 + np.exp(-x))


def zeros(cell: str, size: int) -> State:
    """Return the first state of an encoder."""
    return State(np.zeros(size), np.zeros(size) if cell == "lstm" else None)


def fused(parameters: Parameters, layer: int, backward: bool = False) -> Parameters:
    """Pick one layer and direction of torch's ``nn.GRU`` or ``nn.LSTM``."""
    ending = f"_l{layer}" + "_reverse" * backward
    return {
        name: parameters[f"rnn.{name}{ending}"]
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    }


def decoder_layer(cell: str, parameters: Parameters, layer: int) -> Parameters:
    """Pick one layer of a decoder."""
    return part(parameters, f"cells.{layer}") if cell == "gru_2014" else fused(parameters, layer)


def advance(cell: str, parameters: Parameters, x: np.ndarray, state: State) -> State:
    """Move one layer by one step."""
    return {"gru": gru, "gru_2014": gru_2014, "lstm": lstm}[cell](parameters, x, state)


def gru_2014(parameters: Parameters, x: np.ndarray, state: State) -> State:
    """Bahdanau et al. 2015, A.1.1 (Cho et al. 2014, section 2.3, with ``1 - z`` for its z)."""
    w_z, w_r, w = np.split(parameters["inputs.weight"], 3)
    b_z, b_r, b = np.split(parameters["inputs.bias"], 3)
    u_z, u_r = np.split(parameters["gates.weight"], 2)
    u = parameters["candidate.weight"]
    h = state.hidden
    z = sigmoid(w_z @ x + u_z @ h + b_z)
    r = sigmoid(w_r @ x + u_r @ h + b_r)
    candidate = np.tanh(w @ x + u @ (r * h) + b)
    return State((1 - z) * h + z * candidate, None)


def gru(parameters: Parameters, x: np.ndarray, state: State) -> State:
    """Torch's GRU: the reset gate acts after the product, and z keeps the old state."""
    (w_r, w_z, w_n), (u_r, u_z, u_n), (b_r, b_z, b_n), (d_r, d_z, d_n) = (
        np.split(parameters[name], 3) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    h = state.hidden
    r = sigmoid(w_r @ x + b_r + u_r @ h + d_r)
    z = sigmoid(w_z @ x + b_z + u_z @ h + d_z)
    n = np.tanh(w_n @ x + b_n + r * (u_n @ h + d_n))
    return State((1 - z) * n + z * h, None)


def lstm(parameters: Parameters, x: np.ndarray, state: State) -> State:
    """Input, forget and output gates, no peepholes."""
    assert state.cell is not None
    gates = parameters["weight_ih"] @ x + parameters["bias_ih"]
    gates = gates + parameters["weight_hh"] @ state.hidden + parameters["bias_hh"]
    i, f, g, o = np.split(gates, 4)
    cell = sigmoid(f) * state.cell + sigmoid(i) * np.tanh(g)
    return State(sigmoid(o) * np.tanh(cell), cell)
