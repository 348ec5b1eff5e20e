"""Spoils files in ways that damage, bugs and bad intent would: each is a function of a random generator."""

import io
import json
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

Random = random.Random

HUGE = "9" * 5_000
LONG = "x" * 100_000

HOSTILE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    0.5,
    1e308,
    2**31,
    2**63,
    2**64,
    "",
    " ",
    "_",
    "../x",
    "/abs",
    "a/b",
    "yes",
    "3",
    "<Z>",
    "red,blue",
    "\0",
    "\n",
    "\x1b[2J",
    "%s{0}",
    "\u202e",
    LONG,
    [],
    [[]],
    {},
    {"a": 1},
    [None],
    [1, 2, 3],
    "NaN",
)
"""Values in place of others."""

RAW = (
    '"\\ud800"',
    '"\\u0000"',
    "NaN",
    "-Infinity",
    "1e999",
    HUGE,
    f"-{HUGE}",
    "[" * 100_000,
    "[" * 500 + "]" * 500,
    '{"a":' * 3_000 + "1" + "}" * 3_000,
)
"""JSON that Python's writer would not write, in place of a value."""

_MARK = "\u2620 in place of this"


def spoil_bytes(content: bytes, rng: Random) -> bytes:
    """Changes bytes without regard to what they mean."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        kind = rng.randrange(8)
        at = rng.randrange(len(data) + 1) if data else 0
        n = min(rng.choice((1, 1, 2, 4, 16, 300)), len(data) - at)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            del data[at : at + n]
        elif kind == 2 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 3:
            data[at : at + n] = rng.randbytes(n)
        elif kind == 4:
            data[at:at] = data[at : at + n]
        elif kind == 5:
            data[at : at + n] = bytes([rng.choice((0, 255))]) * n
        elif kind == 6:
            data[at:at] = rng.randbytes(rng.choice((1, 4, 1000)))
        else:
            data[at : at + 4] = struct.pack("<I", rng.choice((0, 2**31, 2**32 - 1, 65_535)))
        if not data:
            break
    return bytes(data)


def spoil_json(content: bytes, rng: Random) -> bytes:
    """Changes the values of a JSON text, which stays JSON most of the time."""
    try:
        value = json.loads(content)
    except ValueError:
        return spoil_bytes(content, rng)
    if rng.random() < 0.12:
        return spoil_bytes(content, rng)
    raw = None
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(_places(value))
        if not places:
            break
        # Some values are in long lists: a list is chosen first, then a place in it.
        parent, key = rng.choice(places[:200]) if rng.random() < 0.5 else rng.choice(places)
        kind = rng.randrange(7)
        if kind <= 2:
            parent[key] = rng.choice(HOSTILE)
        elif kind == 3:
            parent[key], raw = _MARK, rng.choice(RAW)
        elif kind == 4:
            del parent[key]
        elif isinstance(parent, dict):
            parent[str(rng.choice([each for each in HOSTILE if isinstance(each, str)]))] = parent[key]
        else:
            parent.insert(key, parent[key])
    text = json.dumps(value)
    if raw is not None:
        text = text.replace(json.dumps(_MARK), raw)
    return text.encode()


def _places(value: Any) -> Any:
    todo = [value]
    while todo:
        each = todo.pop(0)
        keys = list(each) if isinstance(each, dict) else range(len(each)) if isinstance(each, list) else ()
        for key in keys:
            yield each, key
            if isinstance(each[key], dict | list):
                todo.append(each[key])


def spoil_rows(content: bytes, rng: Random) -> bytes:
    """Changes a row of a file with an object a line: questions, scenes, predictions, logs."""
    lines = content.split(b"\n")
    full = [k for k, line in enumerate(lines) if line.strip().rstrip(b",").startswith(b"{")]
    if not full or rng.random() < 0.1:
        return spoil_bytes(content, rng)
    k = rng.choice(full)
    comma = b"," if lines[k].rstrip().endswith(b",") else b""
    body = lines[k].strip().rstrip(b",")
    kind = rng.randrange(8)
    if kind == 0:
        lines.insert(k, lines[k])
    elif kind == 1:
        del lines[k]
    else:
        lines[k] = spoil_json(body, rng).replace(b"\n", b" ") + comma
    return b"\n".join(lines)


def spoil_text(content: bytes, rng: Random) -> bytes:
    """Changes a line of settings: TOML or YAML."""
    lines = content.decode(errors="replace").splitlines()
    if not lines or rng.random() < 0.15:
        return spoil_bytes(content, rng)
    k = rng.randrange(len(lines))
    name, sign, _ = lines[k].partition("=" if "=" in lines[k] else ":")
    values = ["", '"x"', "-1", "0", "0.5", "1e308", HUGE, "[" * 5_000, "{a=1}", "[]", "true", "nan", "inf"]
    values += ['"../x"', '"\\u0000"', f'"{LONG}"', "1979-05-27", "&a [*a]", "!!python/object:os.system x"]
    if sign and rng.random() < 0.7:
        lines[k] = f"{name}{sign} {rng.choice(values)}"
    elif rng.random() < 0.5:
        del lines[k]
    else:
        lines.insert(k, rng.choice(("[x]", "x = 1", "[[dataset]]", "\0", "a.b.c = 1", lines[k])))
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def spoil_hdf5(content: bytes, rng: Random) -> bytes:
    """Changes what is in an HDF5 file, which stays one most of the time."""
    if rng.random() < 0.3:
        return spoil_bytes(content, rng)
    memory = io.BytesIO(content)
    with h5py.File(memory, "r+") as file:
        names = list(file)
        name = rng.choice(names)
        array = file[name][()] if file[name].size < 2**22 else np.zeros(3, np.int32)
        attributes = list(file.attrs)
        kind = rng.randrange(17)
        if kind in (9, 10) and attributes:
            hostile = [each for each in HOSTILE if isinstance(each, str | int | float) and each != LONG]
            value = rng.choice(hostile)
            file.attrs[rng.choice(attributes)] = (
                value.replace("\0", "") if isinstance(value, str) else np.float64(value)
            )
            return _closed(file, memory)
        if kind == 11 and attributes:
            del file.attrs[rng.choice(attributes)]
            return _closed(file, memory)
        if kind == 12:
            values = file[name]
            at = rng.randrange(max(1, len(values))) if values.shape else 0
            if values.shape and len(values) and values.dtype.kind in "iu":
                top = np.iinfo(values.dtype)
                values[at] = rng.choice((top.min, top.max, 0, 77))
            return _closed(file, memory)
        del file[name]
        is_number = array.dtype.kind in "iu"
        values: dict[int, Callable[[], Any]] = {
            0: lambda: h5py.SoftLink(f"/{name}"),
            1: lambda: h5py.ExternalLink("/etc/passwd", "/x"),
            2: lambda: 7,
            3: lambda: np.full(array.shape[:1] or (1,), b"text"),
            6: lambda: array[: len(array) // 2] if array.shape else array,
            7: lambda: array[..., None],
            8: lambda: array.astype(np.float64) * np.nan if array.dtype.kind in "iuf" else array,
            14: lambda: np.zeros(0, dtype=array.dtype),
            15: lambda: h5py.Empty("i4"),
        }
        if kind in values:
            file[name] = values[kind]()
        elif kind == 4:
            file.create_dataset(name, shape=(10**11, *array.shape[1:]), dtype=array.dtype, chunks=True)
        elif kind == 5:
            file.create_dataset(name, shape=(3, 2**20, 2**12), dtype="u1", chunks=(1, 2**20, 2**10))
        elif kind == 13:
            file.create_group(name)
        elif kind == 16:
            file.create_dataset(name, data=array, dtype=">i8" if is_number else array.dtype)
        return _closed(file, memory)


def _closed(file: h5py.File, memory: io.BytesIO) -> bytes:
    file.close()
    return memory.getvalue()


def spoil_png(content: bytes, rng: Random) -> bytes:
    """Changes a PNG file: its bytes, or the size that its header claims, with a checksum that fits."""
    if rng.random() < 0.5 or len(content) < 33:
        return spoil_bytes(content, rng)
    header = bytearray(content[12:29])
    width, height = rng.choice(((0, 1), (1, 1), (60_000, 60_000), (2**31 - 1, 1), (100, 100)))
    header[4:12] = struct.pack(">II", width, height)
    if rng.random() < 0.3:
        header[12] = rng.choice((0, 1, 16, 255))
    return content[:12] + bytes(header) + struct.pack(">I", zlib.crc32(header)) + content[33:]


def spoil_npy(content: bytes, rng: Random) -> bytes:
    """Changes a .npy file: its bytes, or what its header says."""
    if rng.random() < 0.4:
        return spoil_bytes(content, rng)
    (length,) = struct.unpack("<H", content[8:10])
    data = content[10 + length :]
    shapes = ("(10**11,)", "(100000000000,)", "(-1,)", "()", "(2, 2)", "'x'", "(1" + ",1" * 40 + ")")
    dtypes = ("'<i4'", "'|O'", "'<f8'", "'<U9'", "[('a', '<i4')]", "'nonsense'", "5")
    text = f"{{'descr': {rng.choice(dtypes)}, 'fortran_order': False, 'shape': {rng.choice(shapes)}, }}"
    if rng.random() < 0.2:
        text = "(" * 3_000
    header = text.encode() + b"\n"
    return content[:6] + b"\x01\x00" + struct.pack("<H", len(header)) + header + data


def spoil_safetensors(content: bytes, rng: Random) -> bytes:
    """Changes a safetensors file: its bytes, its header, or its metadata."""
    if rng.random() < 0.3 or len(content) < 8:
        return spoil_bytes(content, rng)
    (length,) = struct.unpack("<Q", content[:8])
    header, data = content[8 : 8 + length], content[8 + length :]
    raw = json.loads(header)
    if rng.random() < 0.5 and "clevrhope" in raw.get("__metadata__", {}):
        about = spoil_json(raw["__metadata__"]["clevrhope"].encode(), rng)
        raw["__metadata__"]["clevrhope"] = about.decode("utf-8", "replace")
        header = json.dumps(raw).encode()
    else:
        header = spoil_json(header, rng)
    size = len(header) if rng.random() < 0.9 else rng.choice((0, 2**40, 2**63))
    return struct.pack("<Q", size) + header + data


SPOILERS: dict[str, Callable[[bytes, Random], bytes]] = {
    ".json": spoil_json,
    ".jsonl": spoil_rows,
    ".h5": spoil_hdf5,
    ".png": spoil_png,
    ".npy": spoil_npy,
    ".safetensors": spoil_safetensors,
    ".toml": spoil_text,
    ".yaml": spoil_text,
}
"""By the end of a file's name; any other is changed byte by byte."""


def spoil(path: Path, rng: Random) -> str:
    """Spoils a file in place; says how."""
    if rng.random() < 0.04:
        how = rng.choice(("link to itself", "folder", "missing", "empty", "link to nowhere"))
        path.unlink()
        if how == "link to itself":
            path.symlink_to(path.name)
        elif how == "folder":
            path.mkdir()
        elif how == "empty":
            path.touch()
        elif how == "link to nowhere":
            path.symlink_to("nowhere")
        return how
    content = path.read_bytes()
    rows = path.suffix == ".json" and content.split(b"\n", 1)[0].rstrip().endswith(b": [")
    spoiler = spoil_rows if rows and rng.random() < 0.7 else SPOILERS.get(path.suffix, spoil_bytes)
    path.unlink()  # the copy may be a link to the file that is to stay
    path.write_bytes(spoiler(content, rng))
    return spoiler.__name__
