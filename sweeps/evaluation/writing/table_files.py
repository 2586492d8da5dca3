"""Files of tables: JSON, CSV, LaTeX and Markdown."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from datamodules.files import write_text
from sweeps.evaluation.tables import Table, as_csv, as_json, as_markdown
from sweeps.evaluation.writing.latex import as_latex

FORMATS: Mapping[str, Callable[[Table], str]] = {
    "json": as_json,
    "csv": as_csv,
    "tex": as_latex,
    "md": as_markdown,
}


def write_tables(tables: Sequence[Table], folder: Path) -> None:
    """Write every table in every format; each file is written whole or not at all."""
    for table in tables:
        for ending, text in FORMATS.items():
            write_text(folder / f"{table.name}.{ending}", text(table))
