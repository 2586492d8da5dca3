"""Opening datasets of Hugging Face: of the hub, or of a file or folder. No code of a dataset runs.

``datasets`` reads data files alone since its version 4, and refuses a dataset that needs a script.
"""

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datamodules.errors import UserError, one_line

if TYPE_CHECKING:
    from datasets import Dataset

KINDS = {".parquet": "parquet", ".arrow": "arrow", ".jsonl": "json", ".json": "json"}
"""What reads a single file, by the suffix of the file."""
FOLDER = "huggingface"
"""Folder of ``cache_dir`` for Arrow tables."""


def open_tables(
    path: str,
    configuration: str | None = None,
    folder: str | None = None,
    revision: str | None = None,
    cache_dir: Path | None = None,
) -> dict[str, "Dataset"]:
    """Open all splits of a dataset as tables that are mapped from the disk.

    Args:
        path: name on the hub, or a file or folder.
        configuration: name of one of the dataset's configurations.
        folder: folder inside the dataset that holds its files.
        revision: branch, tag or commit of the hub.
        cache_dir: folder for the tables; None for the library's own.

    Raises:
        UserError: if the dataset cannot be opened, or the package is not installed.
    """
    datasets = _library()
    cache = None if cache_dir is None else str(cache_dir / FOLDER)
    local = Path(path)
    try:
        if (local / "state.json").is_file():  # one split, as Dataset.save_to_disk writes it
            return {"train": datasets.load_from_disk(path)}
        if local.is_file():
            kind = next((KINDS[suffix] for suffix in local.suffixes if suffix in KINDS), None)
            if kind is None:
                raise UserError(f"data.path={path}: is none of {', '.join(KINDS)}")
            return dict(datasets.load_dataset(kind, data_files=path, cache_dir=cache))
        return dict(
            datasets.load_dataset(
                path, configuration, data_dir=folder, revision=revision, cache_dir=cache
            )
        )
    except UserError:
        raise
    except Exception as error:  # the library raises errors of many kinds
        raise UserError(f"data.path={path}: {_reason(error)}") from None


def _library() -> Any:
    try:
        import datasets
    except ImportError:
        raise UserError(
            "data=huggingface: the library is not installed; run pip install "
            "'attention-bench[huggingface]'"
        ) from None
    # Errors come as one line of ours; these would also tell each try of the network.
    datasets.logging.set_verbosity(logging.CRITICAL)
    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    return datasets


def _reason(error: Exception) -> str:
    if isinstance(error, ConnectionError):
        return (
            f"{one_line(error)}: try again with a network, or give a folder with the dataset's "
            "files"
        )
    cause = error.__cause__
    why = one_line(error) + (f" ({one_line(cause)})" if isinstance(cause, Exception) else "")
    return f"cannot be opened: {why}; set data.path, data.configuration or data.revision"
