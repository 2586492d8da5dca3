"""Hydra callback around a multirun of workers: work before and after it."""

import traceback
from collections.abc import Sequence
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.utils import get_method
from omegaconf import DictConfig

from sweeps.launch.errors import as_user_error, stop


class MultirunCallback(Callback):
    """Call functions of a configuration before the first and after the last job of a multirun.

    Args:
        at_start: dotted paths of functions of the configuration, called in order.
        at_end: dotted paths of functions that are called once all jobs have ended.
    """

    def __init__(self, at_start: Sequence[str] = (), at_end: Sequence[str] = ()) -> None:
        self._at_start, self._at_end = list(at_start), list(at_end)

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Call the functions."""
        _call(self._at_start, config)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Call the functions."""
        _call(self._at_end, config)


def _call(paths: Sequence[str], config: DictConfig) -> None:
    """Call functions; Hydra turns their exceptions into warnings, but not ``SystemExit``."""
    HydraConfig.instance().set_config(config)
    try:
        for path in paths:
            get_method(path)(config)
    except Exception as error:
        mistake = as_user_error(error)
        if mistake is None:
            traceback.print_exc()
            raise SystemExit(1) from None
        stop(f"error: {mistake}", 2)
