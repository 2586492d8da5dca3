"""What people read in place of the names of variants."""

from collections.abc import Mapping, Sequence
from typing import Any


def label_of(variant: str, overrides: Sequence[str], config: Mapping[str, Any]) -> str:
    """Return the label of a variant: ``label`` of its configuration.

    That is the name itself for runs of earlier versions, and where ``overrides`` give the name.
    """
    named = any(override.startswith("variant=") for override in overrides)
    return variant if named else str(config.get("label", variant))


def varied(label: str, overrides: Sequence[str]) -> str:
    """Return the label of a system that differs from its variant by ``overrides``."""
    return f"{label} with {', '.join(overrides)}" if overrides else label
