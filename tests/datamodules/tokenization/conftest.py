"""One tokenizer of every kind."""

import pytest

from tests.datamodules.tokenization.kinds import KINDS, tokenizer_of


@pytest.fixture(scope="package", params=KINDS)
def tokenizer(request):
    return tokenizer_of(request.param)
