"""Compile Triton's kernels for an H100, on a machine without a GPU, and print what they take.

``python -m tests.tools.kernels_for_h100``. The sizes are those of published models: a vocabulary of
32,000 words, recurrent layers of 1,000 units, and heads of 64 numbers, in bfloat16.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from lightning_modules.kernels import gate_kernels, row_kernels, span_kernels
from lightning_modules.kernels.packed_attention import Spans

H100 = GPUTarget("cuda", 90, 32)
CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
SINGLE = (
    *("losses", "scores", "energy", "energies", "grad_energies", "grad_energy"),
    *("totals", "slopes"),
)
TYPES = (
    {"targets": "*i64", "tokens": "*i64"}
    | dict.fromkeys(("smoothing", "scale", "natural_scale"), "fp32")
    | dict.fromkeys(SINGLE, "*fp32")
    | dict.fromkeys(Spans._fields, "*i32")
)
"""Types of arguments besides numbers of the compiler and tensors in bfloat16."""
INTEGERS = ("stride", "tgt", "src", "queries", "places")
VOCABULARY: dict[str, Any] = {"width": 32_000}
ALIGNMENT = {"size": 1000, "src_block": row_kernels.SRC_BLOCK, "size_block": row_kernels.SIZE_BLOCK}
GATES = {"size": 1000, "block": gate_kernels.BLOCK}
HEADS: dict[str, Any] = {
    **{"heads": 8, "size": 64, "size_block": 64, "value": 64, "value_block": 64},
    **{"tile_queries": span_kernels.TILE.queries, "tile_keys": span_kernels.TILE.keys},
    "precision": "ieee",
}
KERNELS: list[tuple[Any, ...]] = [
    (row_kernels._loss, VOCABULARY | {"block": row_kernels.LOSS_BLOCK}, row_kernels.LOSS_WARPS),
    (
        row_kernels._best,
        VOCABULARY | {"count": 5, "low": 2, "block": row_kernels.BEST_BLOCK},
        row_kernels.BEST_WARPS,
    ),
    *(
        (kernel, ALIGNMENT, 4)
        for kernel in (
            row_kernels._energies,
            row_kernels._query_gradient,
            row_kernels._keys_gradient,
        )
    ),
    *(
        (kernel, GATES, 4)
        for kernel in (
            gate_kernels._lstm,
            gate_kernels._lstm_gradient,
            gate_kernels._gru,
            gate_kernels._gru_gradient,
        )
    ),
    *(
        (kernel, HEADS, span_kernels.TILE.warps, span_kernels.TILE.stages)
        for kernel in (span_kernels._attend, span_kernels._grad_queries, span_kernels._grad_keys)
    ),
]
"""Each kernel, its constants, its number of warps, and of stages where it is not Triton's own."""


def usage(kernel: Any, constants: dict[str, Any], warps: int, *stages: int) -> dict[str, int]:
    """Compile a kernel; return its threads, and registers and spilled bytes of each thread."""
    names = kernel.arg_names
    types = {name: "i32" if name in INTEGERS else TYPES.get(name, "*bf16") for name in names}
    types |= dict.fromkeys(constants, "constexpr")
    aligned = [name for name in names if types[name].startswith("*") or name == "stride"]
    attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in aligned}
    options = {"num_warps": warps} | ({"num_stages": stages[0]} if stages else {})
    source = ASTSource(fn=kernel, signature=types, constexprs=constants, attrs=attributes)
    compiled = triton.compile(source, target=H100, options=options)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(compiled.asm["cubin"])
        command = [str(CUOBJDUMP), "-res-usage", str(file)]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {name: int(number) for name, number in re.findall(r"(REG|STACK):(\d+)", told)}
    return {"threads": 32 * warps, "registers": found["REG"], "spilled": found["STACK"]}


def usages() -> Iterator[dict[str, Any]]:
    """Yield the name of each kernel with its ``usage``."""
    for kernel, *given in KERNELS:
        yield {"kernel": kernel.__name__, **usage(kernel, *given)}


if __name__ == "__main__":
    for found in usages():
        print(json.dumps(found), flush=True)
