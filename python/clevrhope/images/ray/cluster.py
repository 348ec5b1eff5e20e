"""Connects to a Ray cluster; a failure takes only seconds and is reported in one sentence.

Ray is imported only here, when --engine ray is used.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from types import ModuleType

from clevrhope.errors import ConfigError, RenderError, shown
from clevrhope.runtime.digits import read_digits
from clevrhope.runtime.resources import available_cores

#: Ray's own variable with the default address for its programs.
ADDRESS_VARIABLE = "RAY_ADDRESS"
DEFAULT_PORT = 6379
SOCKET_PATH = "AF_UNIX path length"
"""A part of Ray's message about a temporary folder whose path is too long for its sockets."""
#: A machine that does not answer within this time counts as missing.
CONNECT_TIMEOUT_S = 5.0
#: A server that does not answer as Ray within this time is not Ray. Ray itself would try for two minutes.
HELLO_TIMEOUT_S = 20.0
#: A cluster on this machine stores only the images in flight, a few for each actor.
OBJECT_STORE_BYTES = 512 << 20

_HELLO = (sys.executable, "-P", "-c", "import ray, sys; ray._raylet.GcsClient(address=sys.argv[1])")


def import_ray() -> ModuleType:
    """Imports Ray; raises RenderError if it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise RenderError(
            '--engine ray needs Ray, which is not installed: pip install "clevrhope[ray]"'
        ) from error
    module: ModuleType = ray
    return module


def connect(address: str | None) -> bool:
    """Connects this process to a cluster, or starts one on this machine; False if it was already connected.

    Args:
        address: HOST:PORT of a cluster's head, "auto" for a cluster that runs on this machine, "local" for a
            new one on this machine that ends with this process; by default RAY_ADDRESS, or else local.

    Raises:
        ConfigError: the address is invalid.
        RenderError: Ray is not installed, does not answer there, or rejects the connection.
    """
    ray = import_ray()
    if ray.is_initialized():
        return False
    source = "--address" if address else ADDRESS_VARIABLE
    address = address or os.environ.get(ADDRESS_VARIABLE) or "local"
    if address not in ("local", "auto"):
        _check_answers(address, source)
    # Ray's own handler would end this process silently; ours says how to resume.
    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM) if in_main else None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    _keep_off_standard_output()
    sizes = {"num_cpus": available_cores(), "object_store_memory": OBJECT_STORE_BYTES}
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            include_dashboard=False if address == "local" else None,
            **(sizes if address == "local" else {}),
        )
    except Exception as error:
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        if address == "local":
            advice = "if the machine is busy, try again later"
            if SOCKET_PATH in first:
                advice = "set TMPDIR or RAY_TMPDIR to a folder with a shorter path"
            raise RenderError(
                f"Ray cannot be started on this machine ({first.partition('. ')[0].rstrip('.')}); {advice}, "
                "or leave out --engine, which needs no Ray"
            ) from error
        raise RenderError(f"{source} {address}: Ray cannot be joined there ({first})") from error
    finally:
        if in_main:
            signal.signal(signal.SIGTERM, handler)
    return True


def _keep_off_standard_output() -> None:
    """Stops Ray from printing messages about its processes on standard output, where results go.

    Ray has no setting for that. The run itself reports lost actors where it matters.
    """
    from ray._private import worker

    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *_, **__: None


def _check_answers(address: str, source: str) -> None:
    """Checks that a cluster's head answers, in a separate process, which can be ended.

    `source` is the option or variable that named the head.
    """
    host, _, text = address.rpartition(":")
    port = read_digits(text)
    if not host or port is None or "/" in host:
        raise ConfigError(
            f"{source}: {shown(address)} should be HOST:PORT of a cluster's head (default port "
            f"{DEFAULT_PORT}), auto for the cluster of this machine, or local"
        )
    try:
        socket.create_connection((host, port), CONNECT_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        raise RenderError(
            f"{source} {address}: nothing answers there ({error}); start Ray with "
            f"ray start --head --port={port}, or do without {source} to use only this machine"
        ) from error
    try:
        subprocess.run(
            [*_HELLO, address],
            check=True,
            timeout=HELLO_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        raise RenderError(
            f"{source} {address}: what answers there is not this version of Ray; give the head's port, by "
            f"default {DEFAULT_PORT}"
        ) from error
