"""Argument types that say which values make sense; pydantic checks them when a model is built."""

from typing import Annotated, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, field_validator

Size = Annotated[int, Field(gt=0)]
Dropout = Annotated[float, Field(ge=0, lt=1)]
Tied = Literal["none", "output", "all"]
"""Which tables are one: the target embedding and the output layer, or those and the source's."""

ARBITRARY = ConfigDict(arbitrary_types_allowed=True)


class Options(BaseModel):
    """A group of settings; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Placement(Options):
    """The device of each part of a model, for models too big for one; None: where Lightning is."""

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
        except (RuntimeError, AssertionError, NotImplementedError):  # as torch was built
            raise ValueError(
                f"no device of this machine; write cpu, or cuda:N for its "
                f"{torch.cuda.device_count()} CUDA devices"
            ) from None
        return name
