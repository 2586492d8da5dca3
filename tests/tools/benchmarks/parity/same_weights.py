"""Both toolkits, same weights: ``python -m tests.tools.benchmarks.parity.same_weights PYTHON``.

``PYTHON`` is the interpreter of an environment with JoeyNMT 2.3. Gives random weights to each
system here, carries them over to JoeyNMT by name, and prints by how much the log-probabilities of
the same target tokens differ at most, in float64. What JoeyNMT's models lack is not used here: the
bias of the output layer, and weights of their own for the first cell state.
"""

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from datamodules.tokenization import BOS, EOS, PAD, UNK
from lightning_modules.training.factories import build_model
from lightning_modules.variants import EmbeddedEncoderDecoder
from tests.helpers.variants import configuration
from tests.tools.benchmarks.parity.systems import SYSTEMS

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
    (r"\.mixer\.(query|key|value|out)\.", r".ATT.\1."),
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
    (r"^encoder(.*)\.around_mixer\.norm\.", r"encoder\1.layer_norm."),
    (r"^decoder(.*)\.around_mixer\.norm\.", r"decoder\1.x_layer_norm."),
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


VOCABULARY, SENTENCES = 60, 5
LENGTHS = (9, 7, 7, 4, 2)  # tokens of the sources, longest first, with EOS
TARGETS = 8


def with_shared_parts(model: EmbeddedEncoderDecoder) -> EmbeddedEncoderDecoder:
    """Give random weights to a model, without what JoeyNMT's model lacks."""
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -0.3, 0.3)
    nn.init.zeros_(model.output.bias)
    if bridge := dict(model.named_children()).get("bridge"):
        bridge.cell.load_state_dict(bridge.hidden.state_dict())  # type: ignore[union-attr]
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = 1e-6  # as JoeyNMT's
    return model


def largest_difference(system: str, python: str, folder: Path) -> float:
    """Return by how much log-probabilities of a system differ at most."""
    torch.manual_seed(1)
    config = configuration(*SYSTEMS[system].ours, "tokenizer.shared=true")
    built = build_model(config, VOCABULARY, VOCABULARY)
    assert isinstance(built, EmbeddedEncoderDecoder)
    model = with_shared_parts(built.double().eval())
    source = torch.randint(4, VOCABULARY, (SENTENCES, max(LENGTHS)))
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(1)
    source[torch.arange(SENTENCES), torch.tensor(LENGTHS) - 1] = EOS
    source = source.where(mask, 0)
    target = torch.randint(4, VOCABULARY, (SENTENCES, TARGETS))
    tgt_in = torch.cat([torch.full((SENTENCES, 1), BOS), target[:, :-1]], 1)
    with torch.no_grad():
        features = model.decode(model.encode(source, mask), tgt_in).features
        ours = model.logits(features).log_softmax(-1)
    carried = {
        "state": their_names(model.state_dict(), system != "transformer"),
        "source": source,
        "mask": mask,
        "tgt_in": tgt_in,
        "vocabulary": VOCABULARY,
    }
    answer = ask_their_model(python, "probabilities", folder, SYSTEMS[system].theirs, carried)
    return float((ours - torch.load(answer, weights_only=True)).abs().max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    options = parser.parse_args()
    for system in SYSTEMS:
        with tempfile.TemporaryDirectory() as folder:
            difference = largest_difference(system, options.python, Path(folder))
        print(f"{system}: log-probabilities differ by at most {difference:.1e}", flush=True)


if __name__ == "__main__":
    main()
