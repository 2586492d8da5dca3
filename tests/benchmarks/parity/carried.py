"""Weights of the systems here by the names of JoeyNMT's parameters."""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from datamodules.tokenization import BOS, EOS, PAD, UNK

SCRIPT = Path(__file__).with_name("their_model.py")
RECURRENT = (
    (r"^(src|tgt)_embedding\.weight$", r"\1_embed.lut.weight"),
    (r"^output\.weight$", "decoder.output_layer.weight"),
    (r"^bridge\.hidden\.", "decoder.bridge_layer."),
    (r"^attention\.score\.(query|key)_projection\.", r"decoder.attention.\1_layer."),
    (r"^attention\.score\.energy\.", "decoder.attention.energy_layer."),
    (r"^readout\.combine\.", "decoder.att_vector_layer."),
)
"""Patterns of our names of parameters, and JoeyNMT's names."""
TRANSFORMER = (
    *RECURRENT[:2],
    (r"^(encoder|decoder)\.(\d)\.", r"\1.layers.\2."),
    (r"\.(self_)?attention\.(query|key|value|out)\.", r".ATT.\2."),
    (r"^encoder(.*)\.ATT\.", r"encoder\1.src_src_att."),
    (r"^decoder(.*)\.ATT\.", r"decoder\1.trg_trg_att."),
    (r"\.cross_attention\.", ".src_trg_att."),
    (r"\.query\.", ".q_layer."),
    (r"\.key\.", ".k_layer."),
    (r"\.value\.", ".v_layer."),
    (r"\.out\.", ".output_layer."),
    (r"\.feed_forward\.0\.", ".feed_forward.pwff_layer.0."),
    (r"\.feed_forward\.2\.", ".feed_forward.pwff_layer.3."),
    (r"\.around_feed_forward\.norm\.", ".feed_forward.layer_norm."),
    (r"^encoder(.*)\.around_attention\.norm\.", r"encoder\1.layer_norm."),
    (r"\.around_self_attention\.norm\.", ".x_layer_norm."),
    (r"\.around_cross_attention\.norm\.", ".dec_layer_norm."),
    (r"^(encoder|decoder)_norm\.", r"\1.layer_norm."),
)
VOCABULARIES = ("src_embed.lut.weight", "trg_embed.lut.weight", "decoder.output_layer.weight")
LACKING = ("output.bias", "bridge.cell.")
"""Parameters that JoeyNMT's models lack: one layer makes hidden and cell states of the start."""


def their_names(state: dict[str, Tensor], recurrent: bool) -> dict[str, Tensor]:
    """Return a state of a model here by JoeyNMT's names."""
    renamed = {}
    for name, tensor in state.items():
        if name.startswith(LACKING):
            continue
        for pattern, replacement in RECURRENT if recurrent else TRANSFORMER:
            name = re.sub(pattern, replacement, name)
        renamed[name.replace("tgt_embed", "trg_embed")] = tensor
    if recurrent:
        weight = renamed["decoder.att_vector_layer.weight"]
        renamed["decoder.att_vector_layer.bias"] = weight.new_zeros(len(weight))
    return renamed


def with_their_specials(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Put JoeyNMT's special tokens before our tokens, in the rows of all vocabularies."""
    own = torch.tensor([UNK, PAD, BOS, EOS])
    return {
        name: torch.cat([tensor[own], tensor]) if name.endswith(VOCABULARIES) else tensor
        for name, tensor in state.items()
    }


def ask_their_model(
    python: str, what: str, folder: Path, model: Mapping[str, Any], carried: Mapping[str, Any]
) -> Path:
    """Let JoeyNMT build a model of the carried weights; return the file of its answer.

    ``what`` is ``probabilities`` or ``start``; see ``their_model.py``. Raises ``RuntimeError`` with
    the end of what a failing script printed.
    """
    torch.save(dict(carried), folder / "carried.pt")
    (folder / "model.json").write_text(json.dumps(model))
    command = [python, str(SCRIPT), what, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-3000:])
    return folder / f"{what}.pt"
