"""Weights & Biases: online where that works at once, else offline, never a prompt."""

import logging
import os
import socket
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from urllib.parse import urlsplit

import wandb
from pydantic import validate_call
from pytorch_lightning.loggers import Logger, WandbLogger

from datamodules.errors import UserError
from lightning_modules.heat_map import attention_map
from lightning_modules.metrics.sentences import readable
from lightning_modules.run_folder import SentenceAttention
from lightning_modules.testing import Tested

log = logging.getLogger(__name__)

Mode = Literal["auto", "online", "offline", "disabled"]
CURVE = "bleu_by_length"
TABLE_ROWS = 100


@validate_call
def wandb_logger(
    project: str,
    name: str,
    group: str,
    tags: list[str],
    save_dir: Path,
    mode: Mode = "auto",
) -> WandbLogger:
    """Start a run of its own, also beside others in the same process.

    Everything W&B writes goes under ``save_dir``, so that an offline run can be synchronised
    wherever the folder is copied.
    """
    save_dir.mkdir(parents=True, exist_ok=True)
    for variable, folder in (("WANDB_DATA_DIR", "data"), ("WANDB_CACHE_DIR", "cache")):
        os.environ.setdefault(variable, str(save_dir.absolute() / "wandb" / folder))
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    wandb.setup(settings=wandb.Settings(silent=True))
    chosen, reason = choose_mode(mode)
    logger = WandbLogger(
        project=project,
        name=name,
        group=group,
        job_type="train",
        tags=tags,
        save_dir=save_dir,
        mode=chosen,
        log_model=False,
        reinit="create_new",
        settings=wandb.Settings(silent=True, console="off", init_timeout=20, finish_timeout=60),
    )
    try:
        run = logger.experiment
    except wandb.Error as error:
        raise UserError(
            f"W&B does not start ({' '.join(str(error).split())}); "
            "give logger.mode=offline or logger=none"
        ) from None
    # Exact names: among patterns, W&B picks one at random.
    run.define_metric(f"{CURVE}/length", hidden=True, summary="none")
    for value in ("bleu", "sentences"):
        run.define_metric(
            f"{CURVE}/{value}", step_metric=f"{CURVE}/length", step_sync=False, summary="none"
        )
    if chosen == "offline":
        log.info("W&B offline (%s); later: wandb sync %s", reason, Path(run.dir).parent)
    elif chosen == "online":
        log.info("W&B online: %s", run.url)
    return logger


def choose_mode(requested: Mode, probe_seconds: float = 2.0) -> tuple[str, str]:
    """Return W&B's mode and why. Asks nothing, and waits at most ``probe_seconds``."""
    if requested != "auto":
        return requested, "logger.mode"
    if os.environ.get("WANDB_MODE"):
        return os.environ["WANDB_MODE"], "WANDB_MODE"
    try:
        if not wandb.login(prompt=False, verify=False):
            return "offline", "not logged in"
    except Exception as error:  # a malformed key, an unreadable settings file…
        return "offline", " ".join(str(error).split())
    address = urlsplit(wandb.setup().settings.base_url)
    proxied = any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY"))
    if proxied:
        return "online", "through a proxy"
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname or "", port), probe_seconds).close()
    except OSError as error:
        return "offline", f"{address.hostname} cannot be reached: {error}"
    return "online", "logged in"


def log_test(logger: Logger | None, tested: Tested) -> None:
    """Log test scores, BLEU by length, the first translations and a heat map."""
    if not isinstance(logger, WandbLogger):
        return
    run, scores = logger.experiment, tested.scores
    for name, estimate in scores.scores.items():
        run.summary[f"test/{name}"] = estimate.value
    for point in scores.curve:
        if point.bleu is not None:
            run.log(
                {
                    f"{CURVE}/length": point.bounds.high or point.bounds.low,
                    f"{CURVE}/bleu": point.bleu,
                    f"{CURVE}/sentences": point.sentences,
                }
            )
            run.summary[f"bleu_at/{point.bounds.low:03d}"] = point.bleu
    columns: list[str | int] = ["id", "source", "reference", "hypothesis", "score"]
    rows = [[line[str(column)] for column in columns] for line in scores.predictions[:TABLE_ROWS]]
    run.log({"predictions": wandb.Table(columns=columns, data=rows)})
    shown = readable([str(line["source"]) for line in scores.predictions])
    weights = scores.attention[shown]
    if weights is not None:
        sentence = SentenceAttention(
            id=shown,
            source_words=scores.predictions[shown]["source"].split(),
            target_words=scores.predictions[shown]["hypothesis"].split(),
            weights=weights.tolist(),
        )
        with TemporaryDirectory() as folder:
            picture = Path(folder) / "attention.png"
            attention_map(sentence).save(str(picture), scale_factor=2)
            run.log({"attention": wandb.Image(str(picture))})


def finish(logger: Logger | None, exit_code: int = 0) -> None:
    """Close the W&B run, so that the next job of this process gets its own."""
    if isinstance(logger, WandbLogger):
        logger.experiment.finish(exit_code=exit_code)
