"""Train a system in one of the toolkits; a finished training is taken as it is."""

import copy
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pytorch_lightning as pl
from numpy.typing import NDArray

from datamodules.batching import MixedBatchSampler
from datamodules.files import write_text as write_file
from datamodules.translation_data import TranslationData
from lightning_modules.metrics.chosen_metrics import translation_statistics
from lightning_modules.metrics.metric import ReferenceText
from lightning_modules.metrics.text_metrics import Bleu
from lightning_modules.runs.files import read_history, read_predictions
from lightning_modules.training.factories import build_data, build_model
from tests.helpers.variants import configuration
from tests.tools.benchmarks.parity.same_weights import (
    ask_their_model,
    their_names,
    with_their_specials,
)
from tests.tools.benchmarks.parity.systems import (
    BATCH,
    CLIPPED,
    LABEL_SMOOTHING,
    SYSTEMS,
    TRAINING,
    WARMUP,
)
from tests.tools.benchmarks.workloads import MULTI30K

ROOT = Path(__file__).resolve().parents[4]
DATA = ["data=multi30k", f"data.root={MULTI30K}"]
OURS, THEIRS = "ours", "JoeyNMT"
TRANSLATED = "test.txt"
SCORED = re.compile(r"Evaluation result \(scoring\) loss: +([\d.]+)")
"""JoeyNMT's line after the references of the validation set, which it scores first."""
EVERY = 10
"""JoeyNMT validates after the last update only where its lines of the log divide the updates."""


def write_text(data: TranslationData, folder: Path) -> None:
    """Write both sides of each split as numbers of subwords, and their joint vocabulary.

    Numbers, since the letters of a subword do not tell whether the subword begins a word.
    """
    numbers = "\n".join(map(str, range(len(data.tokenizers.target))))
    (folder / "vocabulary").write_text(numbers + "\n", encoding="utf-8")
    for name, split in data.encoded_corpus.encoded.items():
        for side, sequences in zip(("src", "trg"), split.sides, strict=True):
            lines = (
                " ".join(map(str, sequences.tokens[start : start + length].tolist()))
                for start, length in zip(sequences.starts, sequences.lengths, strict=True)
            )
            (folder / f"{name}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")


def settings(model: dict[str, Any], folder: Path) -> dict[str, Any]:
    side = {"level": "word", "lowercase": False, "max_length": 200}
    side |= {"voc_file": str(folder / "vocabulary")}
    return {
        "name": "benchmark",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "random_seed": 1,
        "data": {
            "train": str(folder / "train"),
            "dev": str(folder / "val"),
            "dataset_type": "plain",
            "src": side | {"lang": "src"},
            "trg": side | {"lang": "trg"},
        },
        "testing": {"beam_size": 1, "batch_size": 10, "batch_type": "sentence"},
        "training": {
            "optimizer": "adam",
            "scheduling": "exponential",
            "decrease_factor": 1.0,
            "learning_rate": 0.001,
            "normalization": "tokens",
            "label_smoothing": 0.1,
            "clip_grad_norm": 1.0,
            "batch_size": 2048,
            "batch_type": "token",
            "loss": "crossentropy",
            "overwrite": True,
            "shuffle": True,
        },
        "model": {"initializer": "xavier_uniform", "bias_initializer": "zeros", **model},
    }


class Job(NamedTuple):
    toolkit: str
    system: str
    rate: float
    seed: int
    tokens: int  # target tokens to train on

    @property
    def name(self) -> str:
        return f"{self.toolkit}/{self.system}/{self.rate:g}-{self.tokens}-{self.seed}"


class Trained(NamedTuple):
    validation: float  # BLEU of greedy search on the whole validation set
    nats: float
    """Cross-entropy of the references of the validation set, for each token, without smoothing."""
    test: Path  # translations of the test set, a sentence a line


class Bench:
    """The data in the form of both toolkits, and a folder for all trainings."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder, self._python = folder.resolve(), python
        self.data = build_data(configuration(*TRAINING, *DATA))
        text, half = self.folder / "text", self.folder / "text.part"
        if not text.is_dir():
            half.mkdir(parents=True, exist_ok=True)
            write_text(self.data, half)
            half.rename(text)
        self._text = text
        self._alone = Lock()

    def train(self, job: Job) -> Trained:
        """Train, unless the job has finished. Raises ``RuntimeError`` with the end of a failure."""
        folder = self.folder / job.name
        record = folder / "done.json"
        if not record.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            validation, nats = (self._ours if job.toolkit == OURS else self._theirs)(job, folder)
            write_file(record, json.dumps({"validation": validation, "nats": nats}))
        return Trained(**json.loads(record.read_text()), test=folder / TRANSLATED)

    def _ours(self, job: Job, folder: Path) -> tuple[float, float]:
        """Train; return BLEU and nats a token of the validation set."""
        _run(
            [sys.executable, "run.py", *SYSTEMS[job.system].ours, *TRAINING, *DATA],
            [f"optimizer.lr={job.rate}", f"seed={job.seed}", f"budget.target_tokens={job.tokens}"],
            [
                "val_sentences=null",
                "trainer.val_check_interval=1000000",  # one validation, at the end
                f"hydra.run.dir={folder / 'run'}",
            ],
        )
        lines = [each.hypothesis for each in read_predictions(folder / "run")]
        write_file(folder / TRANSLATED, "".join(f"{line}\n" for line in lines))
        [point] = read_history(folder / "run")
        return point.val_bleu, point.val_loss

    def _theirs(self, job: Job, folder: Path) -> tuple[float, float]:
        made = settings(SYSTEMS[job.system].theirs, self._text)
        batch = their_batch(self.data)
        updates = EVERY * max(1, round(job.tokens / their_update(self.data, batch) / EVERY))
        made["random_seed"] = job.seed
        made["model_dir"] = str(folder / "model")
        made["data"]["test"] = str(self._text / "test")
        made["testing"] |= {"batch_size": 64}
        made["training"] |= {
            "scheduling": "warmupinversesquareroot",
            "learning_rate": job.rate,
            "learning_rate_min": 0.0,
            "learning_rate_warmup": WARMUP,
            "adam_betas": [0.9, 0.98],
            "label_smoothing": LABEL_SMOOTHING,
            "clip_grad_norm": CLIPPED,
            "batch_size": batch,
            "epochs": 100,
            "updates": updates,
            "validation_freq": updates,
            "keep_best_ckpts": 1,
            "logging_freq": EVERY,
        }
        made["training"] |= {
            "load_model": str(self._start(job, folder)),
            **{f"reset_{part}": True for part in ("best_ckpt", "scheduler", "optimizer")},
            "reset_iter_state": True,
        }
        file, out = folder / "config.yaml", folder / "translated"
        file.write_text(json.dumps(made))  # JSON is YAML too
        toolkit = [self._python, "-m", "joeynmt"]
        _run([*toolkit, "train", str(file), "--skip-test"])
        made["testing"]["load_model"] = str(folder / "model" / "latest.ckpt")
        file.write_text(json.dumps(made))
        _run([*toolkit, "test", str(file), "--output-path", str(out)])
        translated = {split: self._words(Path(f"{out}.{split}")) for split in ("dev", "test")}
        write_file(folder / TRANSLATED, "".join(f"{line}\n" for line in translated["test"]))
        references = self.data.encoded_corpus.text["val"].target
        return bleu(translated["dev"], references), self._their_nats(made, folder)

    def _start(self, job: Job, folder: Path) -> Path:
        """Return a checkpoint of JoeyNMT with the weights from which our training starts."""
        with self._alone:  # Hydra and torch's draws belong to the whole process
            config = configuration(*SYSTEMS[job.system].ours, *TRAINING, *DATA, f"seed={job.seed}")
            pl.seed_everything(config.seeds.initial_weights, verbose=False)
            model = build_model(config, *self.data.vocabulary_sizes)
        state = with_their_specials(their_names(model.state_dict(), job.system != "transformer"))
        carried = {"state": state, "vocabulary": len(state["src_embed.lut.weight"])}
        system = SYSTEMS[job.system].theirs
        return ask_their_model(self._python, "start", folder, system, carried)

    def _their_nats(self, made: dict[str, Any], folder: Path) -> float:
        """Score the references of the validation set.

        JoeyNMT's own figure is the Kullback-Leibler divergence from smoothed references, and so
        smaller than a cross-entropy by the entropy of these, 1.2 nats.
        """
        scoring = copy.deepcopy(made)
        # JoeyNMT scores references with a Transformer only if it returns the attention too.
        scoring["testing"] |= {"return_prob": "ref", "return_attention": True}
        scoring["training"] |= {"label_smoothing": 0.0, "normalization": "none"}
        file = folder / "scoring.yaml"
        file.write_text(json.dumps(scoring))
        printed = _run([self._python, "-m", "joeynmt", "test", str(file)])
        found = SCORED.search(printed)
        assert found, printed[-3000:]
        return float(found[1]) / self.data.encoded_corpus.encoded["val"].tokens

    def _words(self, file: Path) -> list[str]:
        lines = file.read_text(encoding="utf-8").splitlines()
        return self.data.tokenizers.target.decode(
            [[int(word) for word in line.split() if word.isdecimal()] for line in lines]
        )


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    metric = Bleu()
    counts = translation_statistics([metric], ReferenceText(references), hypotheses)[
        metric.statistics
    ]
    return float(metric.score(counts.sum(axis=0)))


def our_update(data: TranslationData) -> float:
    train = data.encoded_corpus.encoded["train"]
    return train.tokens / len(MixedBatchSampler(train, BATCH, shuffle=True))


def their_update(data: TranslationData, batch: int) -> float:
    """Return the mean target tokens of JoeyNMT's batches, which the last sentence may overfill."""
    train = data.encoded_corpus.encoded["train"]
    order = np.random.default_rng(0).permutation(len(train))
    return train.tokens / batches_of(train.longest[order], batch)


def their_batch(data: TranslationData) -> int:
    """Return the ``batch_size`` with which JoeyNMT's updates have as many real tokens as ours."""
    sizes = range(100, 2 * BATCH, 20)
    return min(sizes, key=lambda size: abs(their_update(data, size) - our_update(data)))


def batches_of(longest: NDArray[np.int64], batch: int) -> int:
    """Return into how many batches JoeyNMT's ``TokenBatchSampler`` cuts the sentences."""
    count, sentences, most = 0, 0, 0
    for length in longest.tolist():
        sentences, most = sentences + 1, max(most, length)
        if sentences * most >= batch:
            count, sentences, most = count + 1, 0, 0
    return count + bool(sentences)


def _run(*command: Sequence[str]) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    words = [word for part in command for word in part]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env=environment)
    printed = done.stdout + done.stderr
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {printed[-3000:]}")
    return printed
