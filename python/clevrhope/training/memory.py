"""The C library told to keep what a training process frees, for its next update."""

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Of glibc's mallopt."""


def keep_freed_memory() -> bool:
    """Has malloc keep freed memory to the process's end, where it is glibc's; else does nothing.

    Each update frees tensors as large as those that the next one asks for. glibc gives them back to the
    system and fetches them anew, which takes up to a tenth of the time of a small model on a CPU.

    Returns:
        Whether it does so now.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # no C library by that name, or another one
        return False
    # Blocks of any size come from what is kept, or of the largest that older versions know.
    kept = any(set_option(_MMAP_THRESHOLD, size) for size in (1 << 30, 1 << 25))
    return kept and bool(set_option(_TRIM_THRESHOLD, (1 << 31) - 1))
