"""Processes that end when the one that started them has ended, however it did."""

import os
import signal
import time
from multiprocessing import parent_process
from threading import Thread

SECONDS_BETWEEN_LOOKS = 0.5


def end_with_parent(seconds_to_save: float = 0.0) -> None:
    """Let this process end with its parent; nothing if ``multiprocessing`` has not started it.

    With ``seconds_to_save``, it gets SIGTERM first, on which a training saves a checkpoint.
    """
    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        while os.getppid() == parent.pid:  # joblib's workers cannot join theirs
            time.sleep(SECONDS_BETWEEN_LOOKS)
        if seconds_to_save:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(seconds_to_save)
        os._exit(1)

    Thread(target=wait, daemon=True).start()
