"""The peak of a GPU by its name."""

import re

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
