"""Converts programs and scenes to JSON, the form in which the engine reads them."""

import json

from clevrhope.errors import ClevrhopeError, shown


def json_bytes(content: object, what: str, *, error: type[ClevrhopeError]) -> bytes:
    """Encodes a value from json.load as JSON; for other values raises `error`, with `what` in the message."""
    try:
        return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise error(f"{what}: not what json.load gives ({shown(str(problem))[1:-1]})") from problem
