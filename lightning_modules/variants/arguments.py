"""Argument types that say which values make sense; pydantic checks them when a model is built."""

from typing import Annotated

from pydantic import ConfigDict, Field

Size = Annotated[int, Field(gt=0)]
Dropout = Annotated[float, Field(ge=0, lt=1)]

ARBITRARY = ConfigDict(arbitrary_types_allowed=True)
