"""Pages that open from disk and need no network."""

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader

from lightning_modules.metrics.scopes import Estimate
from sweeps.evaluation.tables import Cell, Column, Kind, Table


def render_page(template: str, **shown: Any) -> str:
    """A page as text; Vega is inlined once."""
    return environment().get_template(template).render(vega=_vega(), **shown)


def environment() -> Environment:
    """Where templates live. All words are escaped."""
    made = Environment(
        loader=PackageLoader("sweeps"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"cells": page_cells, "base64": _base64}
    return made


def _base64(content: bytes) -> str:
    return b64encode(content).decode()


@cache
def _vega() -> str:
    """The drawing library in one script, which takes a second to put together."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


@dataclass(frozen=True)
class PageCell:
    """A cell as it is shown and sorted."""

    kind: Kind
    shown: str
    value: int | float | str
    """What a number sorts by; empty for nothing."""


def page_cells(table: Table) -> list[list[PageCell]]:
    """The rows of a table, ready to be sorted."""
    return [
        [_page_cell(column, cell) for column, cell in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]


def _page_cell(column: Column, cell: Cell) -> PageCell:
    shown = column.shown(cell)
    if isinstance(cell, Estimate):  # broken after its value and its interval alone
        shown = shown.replace(", ", ",\u00a0").replace("± ", "±\u00a0")
    value = cell.value if isinstance(cell, Estimate) else cell
    return PageCell(column.kind, shown, "" if value is None else value)
