"""Let the C library keep freed memory."""

import ctypes

# Parameters of mallopt, from <malloc.h>.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
STEP = 256 * 2**20
"""Growth of the heap, in bytes."""
NEVER = 2**31 - 1


def keep_freed_memory() -> bool:
    """Let this process keep the memory it frees, for its next tensors.

    glibc returns large blocks to the kernel and requests new blocks at every training step, which
    the kernel zeroes page by page. Return whether the C library took the settings: only glibc has
    these settings.
    """
    try:
        tune = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # musl and macOS; Windows
        return False
    settings = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: NEVER, M_TOP_PAD: STEP}
    return all(tune(name, value) for name, value in settings.items())
