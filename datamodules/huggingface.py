"""A corpus of the Hugging Face hub, or of Parquet, Arrow or JSON lines. No code of a dataset runs.

``datasets`` reads data files alone since its version 4, and refuses a dataset that needs a script.
"""

import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass as plain_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass
from typing_extensions import override

from datamodules.corpus import Split
from datamodules.errors import UserError, one_line
from datamodules.lines import BLOCK
from datamodules.pair_sources import Block, PairSource
from datamodules.real_corpus import RealCorpus
from datamodules.tables import Columns, clean_texts

if TYPE_CHECKING:
    from datasets import Dataset

KINDS = {".parquet": "parquet", ".arrow": "arrow", ".jsonl": "json", ".json": "json"}
"""What reads a single file, by the suffix of the file."""
FOLDER = "huggingface"  # folder of ``cache_dir`` for Arrow tables
TEXT = ("string", "large_string", "null")  # types of columns that hold text, or nothing


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


@plain_dataclass
class HubRows(PairSource):
    """Some rows of a table, of which two columns are read."""

    name: str
    place: str  # dataset and split, for messages
    dataset: "Dataset"
    columns: tuple[str, str]
    identity: str
    first: int = 1
    unit: str = "row"

    def __post_init__(self) -> None:
        source, target = self.columns
        self.sides = f"{self.place}, column {source}", f"{self.place}, column {target}"

    @override
    def blocks(self) -> Iterator[Block]:
        first = self.first
        chosen = self.dataset.select_columns(list(self.columns)).with_format("arrow")
        for table in chosen.iter(batch_size=BLOCK):
            source, target = (
                clean_texts(table[column].to_pylist(), side, self.unit, first)
                for column, side in zip(self.columns, self.sides, strict=True)
            )
            yield source, target
            first += len(table)


@dataclass
class HuggingFaceCorpus(RealCorpus):
    """A dataset of the hub, or in a file or folder, that ``datasets`` opens memory-mapped.

    A split may be a part of the dataset's split or a sum: ``train[2000:]``, ``train[:1%]+extra``.
    The fingerprint hashes the files of a folder, or the names of the tables of a dataset of the
    hub, which hold its configuration and commit.
    """

    path: str  # name on the hub, or a file or folder
    source: str
    target: str
    columns: Columns
    name: str = "huggingface"
    configuration: str | None = None  # name of one of the dataset's configurations
    folder: str | None = None  # folder inside the dataset that holds its files
    revision: str | None = None  # branch, tag or commit of the hub
    splits: dict[Split, str] = Field(default_factory=dict)

    place: ClassVar[str] = "data.path"

    @override
    def find(self, split: Split) -> Iterator[PairSource]:
        asked = self.splits.get(split, "validation" if split == "val" else split)
        for name, start, end in self._ranges(split, asked):
            table = self._tables[name]
            flat = table.flatten()
            columns = self._column(flat, "source"), self._column(flat, "target")
            part = name if end - start == len(table) else f"{name}[{start}:{end}]"
            yield HubRows(
                part,
                f"data.path={self.path}, split {name}",
                flat.select(range(start, end)),
                columns,
                identity=f"{part} {columns} {self._version(table)}",
                first=start + 1,
            )

    @override
    def text_files(self) -> list[Path]:
        """Return the files of test sets, and those of a dataset in a file or folder."""
        return [*super().text_files(), *self._local_files]

    @cached_property
    def _tables(self) -> "dict[str, Dataset]":
        datasets, path = _library(), self.path
        cache = None if self.cache_dir is None else str(self.cache_dir / FOLDER)
        local = Path(path)
        try:
            if (local / "state.json").is_file():  # one split, as Dataset.save_to_disk writes it
                return {"train": datasets.load_from_disk(path)}
            if not local.is_file():
                return dict(
                    datasets.load_dataset(
                        path,
                        self.configuration,
                        data_dir=self.folder,
                        revision=self.revision,
                        cache_dir=cache,
                    )
                )
            kind = next((KINDS[suffix] for suffix in local.suffixes if suffix in KINDS), None)
            if kind is None:
                raise UserError(f"data.path={path}: is none of {', '.join(KINDS)}")
            return dict(datasets.load_dataset(kind, data_files=path, cache_dir=cache))
        except UserError:
            raise
        except Exception as error:  # the library raises errors of many kinds
            raise UserError(f"data.path={path}: {_reason(error)}") from None

    @cached_property
    def _local_files(self) -> list[Path]:
        path = Path(self.path)
        if path.is_file():
            return [path]
        return sorted(file for file in path.rglob("[!.]*") if file.is_file())

    def _version(self, table: "Dataset") -> str:
        """Return what tells two datasets of the hub apart; files tell local datasets apart."""
        if self._local_files:
            return f"{self.configuration} {self.folder}"
        # The folder of a table is named after its dataset, configuration, version and commit.
        return " ".join("/".join(Path(file["filename"]).parts[-5:]) for file in table.cache_files)

    def _ranges(self, split: Split, asked: str) -> list[tuple[str, int, int]]:
        """Return the splits of the dataset that a split reads, with the first and last row."""
        rows = {name: len(table) for name, table in self._tables.items()}
        from datasets import ReadInstruction  # present, since the tables are open

        try:
            parts = ReadInstruction.from_spec(asked).to_absolute(rows)
        except (AssertionError, ValueError) as error:
            raise UserError(
                f"data.splits.{split}={asked}: {one_line(error).rstrip('.')}: "
                f"data.path={self.path} has the splits {', '.join(rows)}, of which a part is "
                "NAME[10:20] or NAME[:1%]"
            ) from None
        ranges = [
            (part.splitname, part.from_ or 0, rows[part.splitname] if part.to is None else part.to)
            for part in parts
        ]
        for name, start, end in ranges:
            if start >= end:
                raise UserError(
                    f"data.splits.{split}={asked}: has no row of the {rows[name]:,} of {name}"
                )
        return ranges

    def _column(self, table: "Dataset", side: Literal["source", "target"]) -> str:
        wanted = str(getattr(self.columns, side))
        columns = {name: str(getattr(kind, "dtype", kind)) for name, kind in table.features.items()}
        if wanted not in columns:
            raise UserError(
                f"data.columns.{side}={wanted}: data.path={self.path} has no such column; it has "
                f"{', '.join(columns)}"
            )
        if columns[wanted] not in TEXT:
            raise UserError(
                f"data.columns.{side}={wanted}: holds {columns[wanted]}, which is not text"
            )
        return wanted
