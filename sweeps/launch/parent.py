"""Processes that end with the process that started them."""

import os
import signal
import time
from multiprocessing import parent_process
from threading import Thread

POLL_SECONDS = 0.5


def end_with_parent(seconds_to_save: float = 0.0) -> None:
    """Let this process end with its parent, if ``multiprocessing`` has started this process.

    With ``seconds_to_save`` the process gets SIGTERM first, on which a training saves a checkpoint.
    """
    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        while os.getppid() == parent.pid:  # a worker of joblib cannot join its parent
            time.sleep(POLL_SECONDS)
        if seconds_to_save:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(seconds_to_save)
        os._exit(1)

    Thread(target=wait, daemon=True).start()
