"""Makes the C library keep the memory that a training process frees, for its next update."""

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Options of glibc's mallopt."""


def keep_freed_memory() -> bool:
    """Makes glibc's malloc keep freed memory until the process ends; does nothing for other C libraries.

    Each update frees tensors as large as those that the next one allocates. By default glibc returns them to
    the system and fetches them again, which takes up to a tenth of the time of a small model on a CPU.

    Returns:
        Whether freed memory is kept now.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # no C library by that name, or another one
        return False
    # Blocks up to this size come from kept memory; older versions accept only the smaller limit.
    kept = any(set_option(_MMAP_THRESHOLD, size) for size in (1 << 30, 1 << 25))
    return kept and bool(set_option(_TRIM_THRESHOLD, (1 << 31) - 1))
