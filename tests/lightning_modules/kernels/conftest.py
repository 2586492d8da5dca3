"""Products by oneDNN for the tests of kernels."""

import pytest

from lightning_modules.kernels import products


@pytest.fixture
def onednn():
    """Every product by oneDNN, however small."""
    products.use(1)
    yield
    products.use(None)
