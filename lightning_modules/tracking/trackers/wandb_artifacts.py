"""The files of a training as W&B artifacts: what the model was made from, and what was made."""

from pathlib import Path

import wandb

from lightning_modules.runs.paths import BEST, CHECKPOINTS, PREDICTIONS, TOKENIZERS
from lightning_modules.runs.schema import Data

ABOUT_CORPUS = {"name", "source", "target", "fingerprint", "pairs", "vocabulary"}
"""What an artifact tells of a corpus; the text stays where it is."""


def inputs(folder: Path, data: Data) -> list[wandb.Artifact]:
    """Return the corpus, by its fingerprint and without its text, and the tokenizers.

    Runs on the same corpus have the same two artifacts.
    """
    about = data.model_dump(include=ABOUT_CORPUS)
    corpus = wandb.Artifact(f"corpus-{data.fingerprint}", type="dataset", metadata=about)
    with corpus.new_file("corpus.json") as file:
        file.write(data.model_dump_json(include=ABOUT_CORPUS, indent=1))
    tokenizers = wandb.Artifact(f"tokenizers-{data.fingerprint}", type="tokenizers", metadata=about)
    tokenizers.add_dir(str(folder / TOKENIZERS))
    return [corpus, tokenizers]


def outputs(run_id: str, folder: Path, data: Data) -> list[wandb.Artifact]:
    """Return the files for translating, laid out like the run's folder, and the predictions."""
    about = {"corpus": data.name, "data_fingerprint": data.fingerprint}
    model = wandb.Artifact(f"model-{run_id}", type="model", metadata=about)
    model.add_file(str(folder / CHECKPOINTS / BEST), name=f"{CHECKPOINTS}/{BEST}")
    model.add_dir(str(folder / TOKENIZERS), name=TOKENIZERS)
    predictions = wandb.Artifact(f"predictions-{run_id}", type="predictions", metadata=about)
    predictions.add_file(str(folder / PREDICTIONS))
    return [model, predictions]
