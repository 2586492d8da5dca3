"""Products by oneDNN for the tests of kernels."""

import pytest

from lightning_modules.kernels import precision


@pytest.fixture
def onednn():
    """Every product by oneDNN, however small."""
    precision.use_products(1)
    yield
    precision.use_products(None)
