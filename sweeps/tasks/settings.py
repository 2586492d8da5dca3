"""``task=settings``: what each setting means, in the terminal or as a page."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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

*Affects* says what another value changes. *weights*: another model is trained; *test*: the model is
tested in another way; *presentation*: the results are shown in another way; *nothing*: places,
memory, pace. A finished run is used again, and a training continues, where nothing has changed that
affects its results. With °, the content of files counts, not their paths. A key counts as the group
above it, unless its line says otherwise; so do keys that are not listed, such as an option of your
own class.

A value with a file in parentheses is that of the file; `???` must be given. A whole number without
a range may be any from 1 on, a share any number from 0 to 1, a reference (`${KEY}`) what that key
may be; `[0, 1)` excludes 1. Left out: classes of groups (`_target_`) and places inside a run's
folder.
"""
INSIDE_THE_RUN = "${hydra:runtime.output_dir}"
"""How values begin that are places inside the folder of a run."""


class Default(NamedTuple):
    """The value of a key, and the file of a group that has it if a training does not."""

    value: str
    file: str = ""

    def __str__(self) -> str:
        return f"{self.value} ({self.file})" if self.file else self.value


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


def default_values(config: DictConfig) -> dict[str, Default]:
    """Return the value of each key in a configuration, or in the first file that has the key."""
    plain: Any = OmegaConf.to_container(config)
    values: dict[str, Default] = {}
    for file in group_files():
        for key, value in file.values.items():
            values.setdefault(key, Default(_text(value), f"{file.group}={file.name}"))
    return values | {key: Default(_text(value)) for key, value in flatten(plain).items()}


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


def lines(shown: Iterable[Setting], values: Mapping[str, Default]) -> Iterator[str]:
    """Yield two lines for each setting: its value, and how to change the value."""
    for setting in shown:
        yield _with_value(setting, values)
        place = "" if setting.is_group else f" May be {setting.type}."
        shared = f"Affects: {_affects(setting)}. Read by: {_read_by(setting)}."
        yield f"    {setting.meaning}{place} {shared}"


def _with_value(setting: Setting, values: Mapping[str, Default]) -> str:
    has_none = setting.is_group or setting.key not in values
    return setting.key if has_none else f"{setting.key}={values[setting.key]}"


def page(shown: Iterable[Setting], values: Mapping[str, Default]) -> str:
    """Return the settings as Markdown: the keys at the top, a list for each task, then the groups.

    A list is headed by what most of its settings affect, the tasks that read most of them, and the
    file that all values are from.
    """
    groups: dict[str, list[Setting]] = {"": []}
    for setting in shown:
        group, _, rest = setting.key.partition(".")
        groups.setdefault(group if rest or setting.is_group else "", []).append(setting)
    by_reader: dict[str, list[Setting]] = {}
    for setting in groups.pop(""):
        by_reader.setdefault(_reader(setting), []).append(setting)
    text = HEADER
    for reader, members in by_reader.items():
        text += _section(reader, "", members, values)
    for group, members in groups.items():
        meaning = members.pop(0).meaning if members[0].key == group else ""
        text += _section(group, meaning, members, values)
    return text


def _reader(setting: Setting) -> str:
    """Return the heading of a key at the top."""
    if setting.tasks == ("launch",):
        return "Every command"
    if len(setting.tasks) == 1:
        return f"task={setting.tasks[0]}"
    return "Training and other tasks" if "train" in setting.tasks else "Several other tasks"


def _section(
    heading: str, meaning: str, members: Sequence[Setting], values: Mapping[str, Default]
) -> str:
    shown = [each for each in members if _is_for_readers(each, values)]
    if not shown:
        return f"\n## {heading}\n\n{meaning}\n" if meaning else ""
    affects, read_by = (Counter(map(of, shown)).most_common(1)[0][0] for of in (_affects, _read_by))
    files = {values[each.key].file for each in shown if each.key in values and not each.is_group}
    [file] = files if len(files) == 1 else [""]
    text = f"{meaning} Affects {affects}".strip()
    text += f"; read by {read_by}" if heading != f"task={read_by}" else ""
    text += f"; values of `{file}`" if file not in ("", heading) else ""
    listed = {each.key: each for each in shown}
    known = {key: Default(each.value) for key, each in values.items()} if file else values
    items = ""
    for setting in shown:
        above = listed.get(setting.key.rpartition(".")[0])
        parts = [_range(setting, values), setting.meaning]
        if _affects(setting) != (_affects(above) if above else affects):
            parts.append(f"*Affects {_affects(setting)}.*")
        if _read_by(setting) != (_read_by(above) if above else read_by):
            parts.append(f"*Read by {_read_by(setting)}.*")
        items += f"- `{_with_value(setting, known)}`: {' '.join(filter(None, parts))}\n"
    return f"\n## {heading}\n\n{text}.\n\n{items}"


def _is_for_readers(setting: Setting, values: Mapping[str, Default]) -> bool:
    name = setting.key.rpartition(".")[2]
    is_inside = setting.key in values and values[setting.key].value.startswith(INSIDE_THE_RUN)
    return not name.startswith("_") and not is_inside


def _range(setting: Setting, values: Mapping[str, Default]) -> str:
    """Return what may be written, as a sentence, unless value and meaning say it."""
    value = values[setting.key].value if setting.key in values else ""
    text = setting.type.brief()
    is_list = value.startswith("[") and not value.startswith("[]")
    is_count = text == "int ≥ 1" and value.isdigit()
    is_share = text == "float in [0, 1]" and setting.meaning.startswith("Share ")
    is_reference = re.fullmatch(r"\$\{[\w.]+\}", value) is not None
    is_plain = is_list or is_count or is_share or is_reference or (text == "bool" and value)
    if setting.is_group or is_plain:
        text = ""
    if setting.type.or_null and not value.startswith("null") and "null:" not in setting.meaning:
        text += " or null" if text else "may be null"
    return text and f"{text}."
