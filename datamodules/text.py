"""A parallel corpus of text files, plain or compressed: line-aligned, or tables of both sides."""

from collections import Counter
from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass
from typing_extensions import override

from datamodules.corpus import Split
from datamodules.errors import UserError
from datamodules.files import what_is
from datamodules.lines import COMPRESSED
from datamodules.pair_sources import PairSource, TwoFiles, find_file, find_references
from datamodules.real_corpus import RealCorpus
from datamodules.tables import TABLES, Columns, TableFile, table_kind

PATTERN = set("*?[")  # characters of file names that stand for several files


@dataclass
class TextCorpus(RealCorpus):
    """A corpus in UTF-8 files ``ROOT/{split}.{language}``, plain or ``.gz``, ``.xz`` or ``.zst``.

    Each line is one sentence. Only ``\\n`` and ``\\r\\n`` end a line; a byte order mark is dropped.
    A plain file is preferred to a compressed file. With ``columns``, a table ``ROOT/{split}.tsv``
    or ``ROOT/{split}.jsonl`` is preferred to line-aligned files.
    """

    root: Path
    source: str
    target: str
    name: str = "text"
    files: dict[Split, str | list[str]] = Field(default_factory=dict)  # in place of ``{split}``
    columns: Columns | None = None  # columns of tables that hold both sides

    place: ClassVar[str] = "data.root"

    @override
    def find(self, split: Split) -> Iterator[PairSource]:
        if not self.root.is_dir():
            raise UserError(
                f"{self.root} {what_is(self.root)}: set data.root=... to the folder of the text"
            )
        asked = self.files.get(split, split)
        parts = [asked] if isinstance(asked, str) else asked
        names = [name for part in parts for name in self._matches(part)]
        sources = [self._table(name) or self._two_files(name, split) for name in names]
        _check_files(split, sources)
        yield from sources

    @property
    @override
    def set_places(self) -> list[Path]:
        return [self.root, *super().set_places]

    def _matches(self, part: str) -> list[str]:
        """Return the names that a file name part stands for, without language and compression."""
        if not PATTERN.intersection(part):
            return [part]
        kinds = [f".{self.source}", *(TABLES if self.columns else ())]
        if table_kind(part):
            kinds = [""]
        found = {
            _without(file, kind, suffix)
            for kind in kinds
            for suffix in ("", *COMPRESSED)
            # Path.glob takes no absolute pattern.
            for file in glob(f"{part}{kind}{suffix}", root_dir=self.root, recursive=True)  # noqa: PTH207
        }
        if not found:
            raise UserError(
                f"no file in {self.root} is named {' or '.join(part + kind for kind in kinds)}, "
                f"plain or {', '.join(COMPRESSED)}: set data.files or data.root=... to the files "
                "of the text"
            )
        return sorted(found)

    def _table(self, name: str) -> TableFile | None:
        if self.columns is None:
            if table_kind(name):
                raise _no_columns(self.root / name)
            return None
        file = self._find_table(name)
        return TableFile(name, file, self.columns) if file else None

    def _find_table(self, name: str) -> Path | None:
        kinds = [""] if table_kind(name) else TABLES
        files = (find_file(self.root, f"{name}{kind}") for kind in kinds)
        return next(filter(None, files), None)

    def _two_files(self, name: str, split: Split) -> TwoFiles:
        references = find_references(self.root, f"{name}.{self.target}") if split == "test" else []
        first = references[0] if references else self._find(name, self.target)
        return TwoFiles(name, (self._find(name, self.source), first), tuple(references[1:]))

    def _find(self, name: str, language: str) -> Path:
        file = find_file(self.root, f"{name}.{language}")
        if file is None:
            if table := self._find_table(name):
                raise _no_columns(table)
            wanted = f"{name}.{language}"
            raise UserError(
                f"neither {wanted} nor {', '.join(wanted + suffix for suffix in COMPRESSED)} is in "
                f"{self.root}: set data.root=... to the folder of the text, or data.source, "
                "data.target and data.files to how its files are named"
            )
        return file


def _no_columns(table: Path) -> UserError:
    return UserError(
        f"{table} is a table: say which columns hold the text, "
        "data.columns={source: NAME, target: NAME}"
    )


def _check_files(split: Split, sources: Sequence[PairSource]) -> None:
    """Raise ``UserError`` unless a split has files, each once."""
    if not sources:
        raise UserError(f"data.files.{split}=[]: names no file; give at least one")
    counts = Counter(file for source in sources for file in source.files)
    twice = next((file for file, count in counts.items() if count > 1), None)
    if twice is not None:
        raise UserError(f"data.files.{split}: {twice} is given twice; leave one out")


def _without(name: str, kind: str, suffix: str) -> str:
    """Return a file name without its ending; a table that is named whole keeps its kind."""
    return name.removesuffix(suffix).removesuffix(kind)
