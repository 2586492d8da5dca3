"""``task=settings``: what each setting means, in the terminal or as a page."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hydra import compose
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from datamodules.files import check_outputs, write_text
from lightning_modules.runs.job import given_overrides
from lightning_modules.runs.setting_search import find_settings
from lightning_modules.runs.settings import Setting, flatten, group_files, is_read_by, key_of

COLUMNS = ("setting", "value", "may be", "affects", "read by", "meaning")
SHARED = ("affects", "read by")
"""Columns that a group states once if all of its settings agree."""
HEADER = """# Settings

Every setting of `conf/`, made by `python run.py task=settings output=docs/settings.md` from
`conf/settings.yaml`, the one table that the harness asks too. *Affects* says what another value
changes. `weights`: another model is trained. `test`: the same model is tested in another way.
`presentation`: the same results are shown in another way. `nothing`: places, memory, pace. A
finished run is used again, and a training continues, where nothing has changed that affects its
results. Marked with °, the content of files counts, not their paths. A key that is not listed,
such as an option of a class of your own, counts as its group does.
"""


def explain(config: DictConfig) -> None:
    """Task: explain the settings that have ``config.find`` in their key, or in their meaning.

    Values are those of a training with the other overrides of this command. Raises ``UserError`` if
    there are none.
    """
    shown = find_settings(config.find)
    if not shown:
        raise UserError(f"find={config.find}: no setting has this; leave it out for all")
    given = given_overrides(HydraConfig.get())
    training = compose("config", [one for one in given if is_read_by(key_of(one), "train")])
    values = default_values(training)
    if config.output == "-":
        print("\n".join(lines(shown, values)))
    else:
        check_outputs({"output": config.output}, {})
        write_text(config.output, page(shown, values))


def default_values(config: DictConfig) -> dict[str, str]:
    """Return the value of each key in a configuration, or in the first file that has the key."""
    plain: Any = OmegaConf.to_container(config)
    values: dict[str, str] = {}
    for file in group_files():
        for key, value in file.values.items():
            values.setdefault(key, f"{_text(value)} ({file.group}={file.name})")
    return values | {key: _text(value) for key, value in flatten(plain).items()}


def _text(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _row(setting: Setting, values: Mapping[str, str]) -> tuple[str, ...]:
    return (
        setting.key,
        values.get(setting.key, ""),
        str(setting.type),
        setting.affects + ("°" if setting.by_fingerprint else ""),
        ", ".join(setting.tasks),
        setting.meaning,
    )


def lines(shown: Iterable[Setting], values: Mapping[str, str]) -> Iterator[str]:
    """Yield two lines for each setting: its value, and how to change the value."""
    for setting in shown:
        key, value, kind, affects, tasks, meaning = _row(setting, values)
        yield key if setting.is_group else f"{key}={value}"
        place = "" if setting.is_group else f" May be {kind}."
        yield f"    {meaning}{place} Affects: {affects}. Read by: {tasks}."


def page(shown: Iterable[Setting], values: Mapping[str, str]) -> str:
    """Return the settings as Markdown: the keys at the top in one table, then one a group."""
    groups: dict[str, list[Setting]] = {"": []}
    for setting in shown:
        group, _, rest = setting.key.partition(".")
        groups.setdefault(group if rest or setting.is_group else "", []).append(setting)
    text = HEADER
    for group, members in groups.items():
        text += f"\n## {group or 'Keys at the top'}\n\n"
        if members[0].key == group:
            text += f"{members.pop(0).meaning}\n\n"
        rows = [dict(zip(COLUMNS, _row(setting, values), strict=True)) for setting in members]
        shared = [name for name in SHARED if len(rows) > 1 and len({r[name] for r in rows}) == 1]
        if shared:
            stated = "; ".join(f"{name}: {rows[0][name]}" for name in shared)
            text += f"{stated[0].upper()}{stated[1:]}.\n\n"
        text += _table([{n: c for n, c in row.items() if n not in shared} for row in rows])
    return text


def _table(rows: Iterable[Mapping[str, str]]) -> str:
    """Return rows with the same columns as a Markdown table; keys and values are code."""
    rows = list(rows)
    if not rows:
        return ""
    text = f"| {' | '.join(rows[0])} |\n|{'---|' * len(rows[0])}\n"
    for row in rows:
        key, value, *cells = (cell.replace("|", "\\|") for cell in row.values())
        text += f"| `{key}` | {value and f'`{value}`'} | {' | '.join(cells)} |\n"
    return text
