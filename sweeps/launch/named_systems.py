"""Allow ``systems.NAME=FILE`` on the command line for any name, without Hydra's ``+``."""

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig

# YAML cannot allow new keys in a node; a node of the ConfigStore can.
NAMED = {"systems": DictConfig({}, flags={"struct": False})}
ConfigStore.instance().store(name="named_systems", node=DictConfig(NAMED))
