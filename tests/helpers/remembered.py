"""What each process of the tests works out once, as it takes longer than most tests."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from omegaconf import OmegaConf

from lightning_modules.training.flops import count_flops
from tests.helpers.variants import CONF

SHIPPED = ["hydra.conf", str(CONF), ""]
"""Where Hydra looks for configuration files, if nobody adds a place."""


@contextmanager
def flops_counted_once() -> Iterator[None]:
    """Count the FLOPs of a variant once, not in each tiny training."""
    known: dict[tuple[Any, ...], Any] = {}

    def remembered(model, teacher_forcing):
        weights = [(each.shape, each.requires_grad) for each in model.parameters()]
        key = (repr(model), str(weights), OmegaConf.to_yaml(teacher_forcing))
        if key not in known:
            known[key] = count_flops(model, teacher_forcing)
        return known[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("lightning_modules.training.setup.count_flops", remembered)
        yield


@contextmanager
def conf_read_once() -> Iterator[None]:
    """Read each file of ``conf`` once, and merge the same files once; values are set each time."""
    read: dict[str, Any] = {}
    merged: dict[tuple[str, ...], Any] = {}
    load, merge = ConfigRepository.load_config, ConfigLoaderImpl._compose_config_from_defaults_list

    def remembered(known, key, repository, make):
        if [source.path for source in repository.get_sources()] != SHIPPED:
            return make()  # a test may write these files again
        if key not in known:
            known[key] = pickle.dumps(make())  # quicker than a deep copy
        return pickle.loads(known[key])

    def read_once(self, config_path):
        return remembered(read, config_path, self, lambda: load(self, config_path))

    def merged_once(self, defaults, repo):
        key = tuple(map(str, defaults))
        return remembered(merged, key, repo, lambda: merge(self, defaults, repo))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ConfigRepository, "load_config", read_once)
        patched.setattr(ConfigLoaderImpl, "_compose_config_from_defaults_list", merged_once)
        yield
