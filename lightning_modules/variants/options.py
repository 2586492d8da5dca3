"""Types of model options; pydantic checks the values when a model is built."""

from typing import Annotated, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, field_validator

Size = Annotated[int, Field(gt=0)]
Dropout = Annotated[float, Field(ge=0, lt=1)]
Tied = Literal["none", "output", "all"]
"""Shared tables: none, target embedding and output layer, or these two and the source embedding."""

ARBITRARY = ConfigDict(arbitrary_types_allowed=True)
"""Setting of ``validate_call`` for arguments with types unknown to pydantic."""


class Options(BaseModel):
    """A group of options; an unknown option is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Placement(Options):
    """Device of each part of a model too large for one device; None for Lightning's device."""

    encoder: str | None = None
    attention: str | None = None
    decoder: str | None = None

    @field_validator("*")
    @classmethod
    def _exists(cls, name: str | None) -> str | None:
        if name is None:
            return None
        try:
            device = torch.device(name)
            if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
                raise RuntimeError
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError, NotImplementedError):  # depends on torch's build
            raise ValueError(
                f"no device of this machine; write cpu, or cuda:N for its "
                f"{torch.cuda.device_count()} CUDA devices"
            ) from None
        return name
