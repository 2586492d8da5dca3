"""The group ``sweep`` of the configuration: its search space, its sampler and its pruner."""

from sweeps.studies.settings.methods import TRIAL_STEPS
from sweeps.studies.settings.space import (
    Choices,
    Floats,
    Integers,
    Value,
    as_overrides,
    grid,
    hydra_value,
    shown_value,
    suggest,
)
from sweeps.studies.settings.sweep import Sweep
