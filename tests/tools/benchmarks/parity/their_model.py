"""JoeyNMT's model with carried weights: runs in JoeyNMT's environment, without this project.

``python their_model.py probabilities FOLDER`` writes the log-probabilities of target tokens,
``start FOLDER`` a checkpoint from which JoeyNMT's training starts.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from joeynmt.model import build_model


class Vocabulary(SimpleNamespace):
    def __len__(self) -> int:
        return int(self.size)


def with_carried_weights(folder: Path, carried: dict[str, Any]) -> Any:
    """Return JoeyNMT's model; ends with the names of weights that are missing or unknown."""
    special = {"pad_index": 1, "bos_index": 2, "eos_index": 3, "unk_index": 0, "sep_index": None}
    words = Vocabulary(size=carried["vocabulary"], specials=[], lang_tags=[], **special)
    model = build_model(json.loads((folder / "model.json").read_text()), words, words)
    model.to(carried["state"]["src_embed.lut.weight"].dtype)
    model.load_state_dict(carried["state"], strict=False)
    missing = {*model.state_dict()} - {*carried["state"]} - {"encoder.pe.pe", "decoder.pe.pe"}
    unknown = {*carried["state"]} - {*model.state_dict()}
    if missing or unknown:
        raise SystemExit(f"missing: {sorted(missing)}; unknown: {sorted(unknown)}")
    return model


def probabilities(model: Any, carried: dict[str, Any]) -> torch.Tensor:
    model.eval()
    tgt_in, mask = carried["tgt_in"], carried["mask"]
    with torch.no_grad():
        outputs: torch.Tensor = model._encode_decode(
            src=carried["source"],
            trg_input=tgt_in,
            src_mask=mask.unsqueeze(1),
            src_length=mask.sum(1),
            trg_mask=torch.ones_like(tgt_in, dtype=torch.bool).unsqueeze(1),
        )[0]
    return outputs.log_softmax(-1)


def main(what: str, folder: Path) -> None:
    carried = torch.load(folder / "carried.pt", weights_only=True)
    model = with_carried_weights(folder, carried)
    start = {"model_state": model.state_dict()}
    torch.save(start if what == "start" else probabilities(model, carried), folder / f"{what}.pt")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
