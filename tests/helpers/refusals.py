"""Bad input that ends with an error of one line."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from datamodules.errors import UserError


@contextmanager
def refused(*parts: str, error: type[Exception] = UserError) -> Iterator[None]:
    """Insist on an error of one line that has all ``parts``, which are no patterns."""
    with pytest.raises(error) as caught:
        yield
    line = str(caught.value)
    assert "\n" not in line
    for part in parts:
        assert part in line, line
