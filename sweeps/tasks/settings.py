"""``task=settings``: what each setting means, in the terminal or as a page."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hydra import compose
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from datamodules.files import check_outputs, write_text
from lightning_modules.runs.job import given_overrides
from lightning_modules.runs.setting_search import find_settings
from lightning_modules.runs.settings import Setting, flatten, group_files, is_read_by, key_of

HEADER = """# Settings

Every setting of `conf/`, made by `python run.py task=settings output=docs/reference/settings.md`
from `conf/settings.yaml`. `python run.py task=settings find=WORD` prints the same in a terminal.

*Affects* says what another value changes. *weights*: another model is trained; *test*: the same
model is tested in another way; *presentation*: the same results are shown in another way;
*nothing*: places, memory, pace. A finished run is used again, and a training continues, where
nothing has changed that affects its results. With °, the content of files counts, not their paths.

A value with a file in parentheses is that of the file. `???` must be given. *int* is a whole
number; `[0, 1)` includes 0 and excludes 1. Left out: the classes of groups (`_target_`) and places
inside the run's own folder. A key that is not listed, such as an option of your own class, counts
as its group does.
"""
INSIDE_THE_RUN = "${hydra:runtime.output_dir}"
"""How values begin that are places inside the folder of a run."""


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
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _affects(setting: Setting) -> str:
    return setting.affects + ("°" if setting.by_fingerprint else "")


def _read_by(setting: Setting) -> str:
    return ", ".join(setting.tasks)


def lines(shown: Iterable[Setting], values: Mapping[str, str]) -> Iterator[str]:
    """Yield two lines for each setting: its value, and how to change the value."""
    for setting in shown:
        yield _with_value(setting, values)
        place = "" if setting.is_group else f" May be {setting.type}."
        shared = f"Affects: {_affects(setting)}. Read by: {_read_by(setting)}."
        yield f"    {setting.meaning}{place} {shared}"


def _with_value(setting: Setting, values: Mapping[str, str]) -> str:
    has_none = setting.is_group or setting.key not in values
    return setting.key if has_none else f"{setting.key}={values[setting.key]}"


def page(shown: Iterable[Setting], values: Mapping[str, str]) -> str:
    """Return the settings as Markdown: the keys at the top in one table, then one a group.

    A table is headed by what most of its settings affect, and by the tasks that read most of them.
    """
    groups: dict[str, list[Setting]] = {"": []}
    for setting in shown:
        group, _, rest = setting.key.partition(".")
        groups.setdefault(group if rest or setting.is_group else "", []).append(setting)
    at_the_top = groups.pop("")
    trained = [each for each in at_the_top if "train" in each.tasks]
    others = [each for each in at_the_top if "train" not in each.tasks]
    text = HEADER + _section("Keys at the top, of a training", "", trained, values)
    text += _section("Keys at the top, of other tasks", "", others, values)
    for group, members in groups.items():
        meaning = members.pop(0).meaning + "\n\n" if members[0].key == group else ""
        text += _section(group, meaning, members, values)
    return text


def _section(heading: str, text: str, members: Sequence[Setting], values: Mapping[str, str]) -> str:
    shown = [each for each in members if _is_for_readers(each, values)]
    table = _table(shown, values) if shown else ""
    return f"\n## {heading}\n\n{text}{table}" if text or table else ""


def _is_for_readers(setting: Setting, values: Mapping[str, str]) -> bool:
    name = setting.key.rpartition(".")[2]
    return not name.startswith("_") and not values.get(setting.key, "").startswith(INSIDE_THE_RUN)


def _table(members: Sequence[Setting], values: Mapping[str, str]) -> str:
    affects, read_by = (
        Counter(map(of, members)).most_common(1)[0][0] for of in (_affects, _read_by)
    )
    text = f"Affects {affects}; read by {read_by}.\n\n| setting | meaning |\n|---|---|\n"
    for setting in members:
        parts = [_range(setting, values), setting.meaning]
        if _affects(setting) != affects:
            parts.append(f"*Affects {_affects(setting)}.*")
        if _read_by(setting) != read_by:
            parts.append(f"*Read by {_read_by(setting)}.*")
        text += f"| `{_with_value(setting, values)}` | {' '.join(filter(None, parts))} |\n"
    return text


def _range(setting: Setting, values: Mapping[str, str]) -> str:
    """Return what may be written, as a sentence, unless value and meaning say it."""
    value, text = values.get(setting.key, ""), setting.type.brief()
    is_shown = (text == "bool" and value) or (value.startswith("[") and not value.startswith("[]"))
    if setting.is_group or is_shown:
        text = ""
    if setting.type.or_null and not value.startswith("null") and "null:" not in setting.meaning:
        text += " or null" if text else "may be null"
    return text and f"{text}."
