"""The page of what was measured on GPUs, beside the aims: ``docs/findings/gpu.md``."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tests.tools.benchmarks.gpu.items import Item
from tests.tools.benchmarks.gpu.results import Result

PEAKS = {
    r"\bB200\b": (2250, 75),
    r"\bGB200\b": (2500, 80),
    r"\bH200 NVL\b": (835, 60),
    r"\b(H200|GH200)\b": (989, 67),
    r"\bH100 PCIe\b": (756, 51),
    r"\bH100 NVL\b": (835, 60),
    r"\bH100 80GB HBM3$": (989, 67),
    r"\bA100\b": (312, 19.5),
    r"\bA30\b": (165, 10.3),
    r"\bA10G?\b": (125, 31.2),
    r"\bL40S\b": (362, 91.6),
    r"\bL4\b": (121, 30.3),
    r"\bRTX 4090\b": (165, 82.6),
    r"\bRTX 3090\b": (71, 35.6),
    r"\bRTX A6000\b": (155, 38.7),
}
"""10¹² operations per second in bfloat16 with sums in float32 (dense, tensor cores) and in float32
without TF32, by a pattern of the name that torch gives. Source: NVIDIA's data sheets and, for
GeForce, the white papers of Ampere (GA102) and Ada; figures "with sparsity" are halved."""
NONE = "–"
Figures = Mapping[tuple[str, str, str, str], Mapping[str, Any]]
"""Figures by variant, size, precision and kind."""
TEXT = """# On a GPU

`make gpu-queue` measures what is missing, in order of value, for `MINUTES=10`, and writes this page
and the files of `docs/findings/gpu/`: commit both, and do not edit the page. Without make and
without a network: `python -m tests.tools.benchmarks.gpu --minutes 10`. `DATA=FOLDER` is the folder
that holds `multi30k/`, for the claims.

## Aims

*Before*: an H100 (80GB HBM3) on 2026-11-26, torch 2.11, with PyTorch's own kernels, the Transformer
not compiled. *Peak*: that of the GPU's data sheet (bf16: dense; float32: without TF32), compared
with the FLOPs of `budget=flops`, without padding. *Plain loop*: the same model in plain PyTorch
(`tests/tools/benchmarks/rivals/bare.py`) on the same batches. *Plain kernels*: `kernels=plain
compile=null`, instead of what [the policy](../reference/devices.md#kernels-on-a-gpu) chooses.
Sentences are random words, as long as those of news text (28 subwords on average, at most 100);
published sizes have a vocabulary of 32,000 and batches of 25,000 padded tokens, laptop sizes 10,000
and 4,096.

{aims}{machines}{figures}{missing}"""
FIGURES = """
## What the figures are

- *tokens/s*: real target tokens per second of `task=train`; *plain*: with plain kernels. MiB: the
  peak memory of tensors. *Ratio*: the rate divided by that of the plain loop.
- *greedy*, *beam 5*: sentences per second; hypotheses are as long as their sources.
- *other code*: measured before that code was changed; the next start measures it again.
"""
TITLES = (
    *("variant", "size", "precision", "kernels", "tokens/s", "of the peak", "MiB"),
    *("plain: tokens/s", "of the peak", "MiB", "plain loop", "ratio", "greedy", "beam 5"),
)


class Aim(NamedTuple):
    """What is aimed at: a share, a ratio or a rate."""

    name: str
    before: float | None
    goal: float
    form: str

    def shown(self, value: float | None) -> str:
        """Return a figure as the page shows it."""
        return NONE if value is None else format(value, self.form)


AIMS = (
    Aim("`transformer_base`, bf16: share of the peak in training", 0.11, 0.28, ".0%"),
    Aim("`transformer_big`, bf16: share of the peak in training", None, 0.38, ".0%"),
    Aim("one layer, additive, bf16: rate of the plain loop", 1.04, 2.9, ".2f"),
    Aim("one layer, general, with input feeding, bf16: rate of the plain loop", 1.05, 2.9, ".2f"),
    Aim("laptop sizes, bf16: rate with plain kernels, of the slowest", 1.0, 5.0, ".1f"),
    Aim("`transformer_base`, bf16, beam 5: sentences per second", 1081, 6000, ",.0f"),
    Aim("`transformer_base`, bf16, greedy: sentences per second", 1123, 8000, ",.0f"),
    Aim("variants in whose updates the processor waits for the GPU", None, 0, ".0f"),
)


def page_text(items: Sequence[Item], results: Sequence[Result]) -> str:
    """Return the page of all GPUs."""
    gpus = {
        gpu: [result for result in results if result.machine.gpu == gpu]
        for gpu in dict.fromkeys(result.machine.gpu for result in results)
    }
    columns = {gpu: _reached(gpu, found) for gpu, found in gpus.items()}
    columns = columns or {"measured": _reached("", [])}
    rows = [
        [
            aim.name,
            aim.shown(aim.before),
            f"{'≤' if aim.goal == 0 else '≥'} {aim.shown(aim.goal)}",
            *(_judged(aim, values[number]) for values in columns.values()),
        ]
        for number, aim in enumerate(AIMS)
    ]
    aims = _table(["aim", "before", "goal", *columns], rows)
    machines = "".join(_machine(gpu, found, items) for gpu, found in gpus.items())
    figures = FIGURES if gpus else ""
    return TEXT.format(aims=aims, machines=machines, figures=figures, missing=_missing(items, gpus))


def _judged(aim: Aim, value: float | None) -> str:
    if value is None:
        return NONE
    reached = value <= aim.goal if aim.goal == 0 else value >= aim.goal
    return f"{aim.shown(value)}, {'reached' if reached else '**missed**'}"


def _reached(gpu: str, results: Sequence[Result]) -> list[float | None]:
    """Return the values of all aims on one GPU; None where figures are missing."""
    figures = _figures(results)
    laptop = [
        _ratio(figures, *system, "auto", "plain")
        for system in dict.fromkeys(key[:3] for key in figures)
        if system[1:] == ("laptop", "bf16")
    ]
    searched = figures.get(("Transformer", "published", "bf16", "search"), {})
    return [
        _share(figures, gpu, "Transformer", "published", "bf16", "auto"),
        _share(figures, gpu, "Transformer big", "published", "bf16", "auto"),
        _ratio(figures, "one layer, additive", "published", "bf16", "auto", "loop"),
        _ratio(figures, "one layer, general", "published", "bf16", "auto", "loop"),
        min((ratio for ratio in laptop if ratio is not None), default=None),
        searched.get("beam"),
        searched.get("greedy"),
        _waiting(results),
    ]


def _figures(results: Iterable[Result]) -> Figures:
    """Return the figures of systems."""
    return {
        (each["variant"], each["size"], each["precision"], each["kind"]): each
        for result in results
        for each in result.figures
        if "kind" in each and "error" not in each
    }


def _rate(figures: Figures, *key: str) -> float | None:
    return figures.get((key[0], key[1], key[2], key[3]), {}).get("tokens_per_second")


def _ratio(
    figures: Figures, variant: str, size: str, precision: str, kind: str, other: str
) -> float | None:
    rates = [_rate(figures, variant, size, precision, each) for each in (kind, other)]
    return rates[0] / rates[1] if rates[0] and rates[1] else None


def _share(figures: Figures, gpu: str, *key: str) -> float | None:
    rate, peak = _rate(figures, *key), peak_flops(gpu, key[2])
    if rate is None or peak is None:
        return None
    return rate * figures[key[0], key[1], key[2], key[3]]["flops_per_token"] / peak


def _waiting(results: Iterable[Result]) -> float | None:
    """Return the number of variants whose updates wait; None where the tests did not end."""
    for each in results:
        if each.item == "waits" and each.is_done:
            return float(sum("why" in figure for figure in each.figures))
    return None


def _machine(gpu: str, results: Sequence[Result], items: Sequence[Item]) -> str:
    """Return the section of one GPU."""
    versions = {item.name: item.version for item in items}
    last = max(results, key=lambda result: result.day)
    parts = [
        f"## {gpu}\n",
        f"Driver {last.machine.driver}, torch {last.machine.torch}, Triton {last.machine.triton}; "
        f"{last.day}, commit {last.commit}.\n",
        _systems(gpu, _figures(results)),
        *(text for result in results if result.item in versions and (text := _section(result))),
    ]
    notes = [
        f"- {each.item}: {' and '.join(why)}\n"
        for each in results
        if (why := _why(each, versions.get(each.item)))
    ]
    if notes:
        parts.append("Not as it should be:\n\n" + "".join(notes))
    return "\n" + "\n".join(part for part in parts if part)


def _why(result: Result, version: str | None) -> list[str]:
    why = [] if result.is_done else [result.outcome]
    if version != result.code:
        why.append(f"measured on other code ({result.code}, {result.day})")
    return why


def _systems(gpu: str, figures: Figures) -> str:
    rows = []
    for system in dict.fromkeys(key[:3] for key in figures):
        auto = figures.get((*system, "auto"), {})
        plain = figures.get((*system, "plain"), {})
        search = figures.get((*system, "search"), {})
        loop = _rate(figures, *system, "loop")
        cells: list[str] = [*system, auto.get("kernels", NONE)]
        for kind, found in (("auto", auto), ("plain", plain)):
            cells += [
                _cell(found.get("tokens_per_second"), ",.0f"),
                _cell(_share(figures, gpu, *system, kind), ".0%"),
                _cell(found.get("peak_memory_mib"), ",.0f"),
            ]
        cells += [_cell(loop, ",.0f"), _cell(_ratio(figures, *system, "auto", "loop"), ".2f")]
        cells += [_cell(search.get(name), ",.0f") for name in ("greedy", "beam")]
        rows.append(cells)
    return _table(TITLES, rows) if rows else ""


def _cell(figure: float | None, form: str) -> str:
    return NONE if figure is None else format(figure, form)


def _section(result: Result) -> str:
    """Return what an item says besides the table of systems."""
    if result.item in ("tests", "waits"):
        counts = {
            name: number
            for each in result.figures
            for name, number in each.items()
            if isinstance(number, int)
        }
        failed = [each for each in result.figures if "failed" in each and "why" in each]
        said = ", ".join(f"{number} {name}" for name, number in counts.items()) or "no counts"
        about = "Tests marked `gpu`" if result.item == "tests" else "Updates without a wait"
        lines = [f"{about}: {said}.\n"]
        lines += [f"- {each['failed'].rpartition('::')[2]}: {each['why']}\n" for each in failed]
        return "\n".join([lines[0], "".join(lines[1:])]) if failed else lines[0]
    return "\n".join(
        f"{each['table']}:\n\n{_table(each['titles'], each['rows'])}"
        for each in result.figures
        if "table" in each
    )


def _missing(items: Sequence[Item], gpus: Mapping[str, Sequence[Result]]) -> str:
    """Return what is missing on each GPU; on none at all, everything."""
    lines = []
    for gpu, results in gpus.items():
        known = {result.item for result in results if result.is_done}
        names = [item.name for item in items if item.name not in known]
        if names:
            lines.append(
                f"\n## Missing on {gpu}\n\n{len(names)} of {len(items)} items:\n\n{_listed(names)}"
            )
    if not gpus:
        lines.append(
            f"\n## Missing\n\nAll {len(items)} items of `tests/tools/benchmarks/gpu/items.py`.\n"
        )
    return "".join(lines)


def _listed(names: Iterable[str]) -> str:
    """Return a list of names, in which ``…`` stands for one of the systems that follow."""
    systems: dict[str, list[str]] = {}
    for name in names:
        found = re.fullmatch(r"(train|search) (.+) (\w+ \w+)", name)
        form = f"{found[1]} … {found[3]}" if found else ""
        systems.setdefault(form, []).append(found[2] if found else name)
    forms: dict[str, list[str]] = {}
    for form, members in systems.items():
        forms.setdefault("; ".join(members), []).append(form)
    return "".join(
        f"- {'; '.join(same)}: {members}\n" if any(same) else f"- {members}\n"
        for members, same in forms.items()
    )


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def peak_flops(gpu: str, precision: str) -> float | None:
    """Return the FLOPs per second of a GPU in ``bf16`` or ``float32``; None for an unknown GPU.

    A part of a GPU (MIG) is unknown.
    """
    if "MIG" in gpu:
        return None
    for pattern, (bf16, float32) in PEAKS.items():
        if re.search(pattern, gpu):
            return 1e12 * (bf16 if precision == "bf16" else float32)
    return None
