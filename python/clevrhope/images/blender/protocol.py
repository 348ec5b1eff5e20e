"""Messages between the pool and a worker, sent over pipes.

A frame consists of the lengths of header and payload (4 and 8 bytes, little endian), the JSON header, and the
payload. Pixels are sent as payload, so they are neither quoted nor copied more than once.

To a worker: first {"look", "properties", "settings", "threads", "gpu", "work_s", "allowance_s"}; then
{"task": "image" or "passes", "scene"}. From a worker: first {"device"} or {"problem"}; then for each task
{"height", "width", "channels", "seconds", "memory_bytes"} with the pixels, or {"problem"}, or
{"unfit"} if the worker failed or ran out of memory and has to be replaced.

A worker that lists devices gets {"list": kind} instead and answers {"known", "devices"}, see devices.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

_LENGTHS = struct.Struct("<IQ")


def write_frame(pipe: BinaryIO, header: Mapping[str, Any], payload: bytes | memoryview = b"") -> None:
    """Writes one frame and flushes it; raises OSError if the other end is gone."""
    text = json.dumps(header, separators=(",", ":")).encode()
    pipe.write(_LENGTHS.pack(len(text), len(payload)))
    pipe.write(text)
    pipe.write(payload)
    pipe.flush()


def read_frame(pipe: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """Reads one frame; None if the other end closed the pipe, even in the middle of a frame."""
    lengths = pipe.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    n_text, n_payload = _LENGTHS.unpack(lengths)
    text, payload = pipe.read(n_text), pipe.read(n_payload)
    if len(text) < n_text or len(payload) < n_payload:
        return None
    header: dict[str, Any] = json.loads(text)
    return header, payload
