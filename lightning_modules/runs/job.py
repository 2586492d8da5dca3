"""Hydra's settings of one job, read once by its task and passed down."""

import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra.types import RunMode
from omegaconf import OmegaConf

from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.settings import key_of

QUIET = "ATTENTION_BENCH_QUIET"
"""Environment variable, set while a table shows the jobs: log lines would break the table."""

AUTHORS = re.compile(r" \([^()]*et al\.\)")  # in a label


class Job(NamedTuple):
    """One job of Hydra."""

    folder: Path  # the output folder
    overrides: list[str]  # the overrides of the command line, without passwords
    model_name: str  # the file of `conf/model`
    in_multirun: bool  # whether other jobs of the same command run before, beside or after this one

    @classmethod
    def of(cls, hydra: Any) -> "Job":
        """Read the ``hydra`` node of a configuration, a ``HydraConf``."""
        return cls(
            folder=Path(hydra.runtime.output_dir),
            overrides=redacted(given_overrides(hydra)),
            model_name=hydra.runtime.choices["model"],
            in_multirun=hydra.mode == RunMode.MULTIRUN,
        )


def given_overrides(hydra: Any) -> list[str]:
    """Return the overrides of a command line as they were written: interpolations are the job's."""
    written: Any = OmegaConf.to_container(hydra.overrides.task)
    return list(written)


def label_of(variant: str, overrides: Sequence[str], config: Mapping[str, Any]) -> str:
    """Return the label of a variant: ``label`` of its configuration.

    That is the name itself for runs of earlier versions, and where ``overrides`` give the name.
    """
    named = any(override.startswith("variant=") for override in overrides)
    return variant if named else str(config.get("label", variant))


def label_with_changes(label: str, overrides: Sequence[str], others: Sequence[str] = ()) -> str:
    """Return the label of a system with its changes to the file of its model, and with ``others``.

    ``overrides`` are all of its overrides; a label that they give stays as it is. What the label
    says already is left out: ``model.attention.score=dot`` after "Luong global, dot".
    """
    given = any(override.startswith(("variant=", "label=")) for override in overrides)
    changes = [] if given else [each for each in overrides if key_of(each).startswith("model.")]
    added = [each for each in dict.fromkeys([*changes, *others]) if not _says(label, each)]
    return f"{label} with {', '.join(added)}" if added else label


def _says(label: str, override: str) -> bool:
    """Return whether a label names the score, the window or the like that an override gives."""
    if not key_of(override).startswith("model.attention."):
        return False
    value = re.escape(in_words(override.partition("=")[2]))
    return re.search(rf"(?<![\w.]){value}(?![\w.])", label) is not None


def without_authors(labels: Iterable[str]) -> dict[str, str]:
    """Return each label without authors in brackets, where the labels differ without them."""
    labels = list(labels)
    short = {label: AUTHORS.sub("", label) for label in labels}
    return short if len(set(short.values())) == len(short) else {label: label for label in labels}


def run_label(label: str, seed: int) -> str:
    """Return what people read of one training: the label of its system, and its seed."""
    return f"{label}, seed {seed}"


def in_words(value: str) -> str:
    """Return a kind of score or window as papers write it; the name of a user's class stays."""
    words = {"local_m": "local-m", "local_p": "local-p", "scaled_dot": "scaled dot"}
    return words.get(value, value)


def search_in_words(decoding: Mapping[str, Any]) -> str:
    """Return the search of a group ``decoding``: ``BeamSearch (beam_size 4, max_ratio 1.5)``.

    Values that are null or false are left out.
    """
    name = str(decoding.get("search") or decoding["_target_"]).rpartition(".")[2]
    settings = ", ".join(
        f"{key} {search_in_words(value) if isinstance(value, Mapping) else value}"
        for key, value in decoding.items()
        if key not in OF_NO_SEARCH and value is not None and value is not False
    )
    return f"{name} ({settings})" if settings else name


OF_NO_SEARCH = ("search", "_target_", "seconds", "sentences_per_second")
"""Keys of ``decoding`` in a record that name the search or measure it."""
FORCED = "none: the given translations are forced"
"""The search of a task that translates nothing."""
INSTALLED = "attention-bench"
"""Name of the command where the package is installed."""
PLAIN = re.compile(r"[\w./:+~-]+")  # values that Hydra reads without quotes


def command(*overrides: str) -> str:
    """Return a command line, quoted for a shell."""
    return shlex.join([*program_words(), *overrides])


def program_words() -> list[str]:
    """Return how this program is started: by its installed name if it was, else in a checkout."""
    started = Path(sys.argv[0]).parts[-2:]
    installed = started[-1:] == (INSTALLED,) or started == ("attention_bench", "__main__.py")
    return [INSTALLED] if installed else ["python", "run.py"]


def quoted(path: Path) -> str:
    """Return a path as Hydra reads it after the name of an override."""
    text = str(path)
    if PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def next_steps(folder: Path) -> str:
    """Return a line for each command that can follow a finished run."""
    run = quoted(folder)
    translate = command("task=translate", f"checkpoint={run}", "input=FILE", "output=FILE")
    compare = command("task=compare", f"runs=[{run},RUN_DIR]")
    return f"compare with another run: {compare}\ntranslate a file: {translate}"
