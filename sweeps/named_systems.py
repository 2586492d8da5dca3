"""Lets ``systems.NAME=FILE`` stand on the command line for any name, without Hydra's ``+``."""

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig

# A file of conf/ cannot say that a node takes new keys; a stored node can.
NAMED = {
    name: DictConfig({}, flags={"struct": False})
    for name in ("systems", "word_labels", "log_likelihoods")
}
ConfigStore.instance().store(name="named_systems", node=DictConfig(NAMED))
