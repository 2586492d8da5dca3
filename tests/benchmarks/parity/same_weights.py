"""Both toolkits with the same weights: ``python -m tests.benchmarks.parity.same_weights PYTHON``.

``PYTHON`` is the interpreter of an environment with JoeyNMT 2.3. Gives random weights to each
system here, carries them over to JoeyNMT by name, and prints by how much the log-probabilities of
the same target tokens differ at most, in float64. What JoeyNMT's models lack is not used here: the
bias of the output layer, and weights of their own for the first cell state.
"""

import argparse
import tempfile
from pathlib import Path

import torch
from torch import nn

from datamodules.tokenization import BOS, EOS
from lightning_modules.training.factories import build_model
from lightning_modules.variants import EmbeddedEncoderDecoder
from tests.benchmarks.parity.carried import ask_their_model, their_names
from tests.benchmarks.parity.systems import SYSTEMS
from tests.helpers.variants import configuration

VOCABULARY, SENTENCES = 60, 5
LENGTHS = (9, 7, 7, 4, 2)
"""Tokens of the sources, longest first, with EOS."""
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
    """Print a line for each system."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    options = parser.parse_args()
    for system in SYSTEMS:
        with tempfile.TemporaryDirectory() as folder:
            difference = largest_difference(system, options.python, Path(folder))
        print(f"{system}: log-probabilities differ by at most {difference:.1e}", flush=True)


if __name__ == "__main__":
    main()
