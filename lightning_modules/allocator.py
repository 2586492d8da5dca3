"""How the C library deals with freed memory."""

import ctypes

# Of <malloc.h>, for mallopt.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
STEP = 256 * 2**20
"""Bytes by which the heap grows."""
NEVER = 2**31 - 1


def keep_freed_memory() -> bool:
    """Let this process keep the memory it frees, for its next tensors.

    glibc gives large blocks back to the kernel and takes them anew at every training step, zeroed
    page by page. Return whether the C library listened: glibc does, others have no such setting.
    """
    try:
        tune = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # musl and macOS; Windows
        return False
    settings = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: NEVER, M_TOP_PAD: STEP}
    return all(tune(name, value) for name, value in settings.items())
