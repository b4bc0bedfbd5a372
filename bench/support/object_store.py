"""A temporary object store from a wheel, on the disk that is measured."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from bench.support.setup import Setup

ENDPOINT, BUCKET = "BENCH_ENDPOINT", "BENCH_BUCKET"


def start_object_store(setup: Setup, stack: ExitStack) -> Mapping[str, str] | None:
    """The environment of a process that puts large bodies into the store; None where no store can be started."""
    if find_spec("obstore") is None or find_spec("tests") is None:
        return None
    servers: Any = import_module("tests.objects")
    folder = setup.path("objects")
    os.makedirs(folder, exist_ok=True)
    server = servers.Weed(folder).start()
    stack.callback(server.kill)
    keys = {"AWS_ACCESS_KEY_ID": servers.KEY, "AWS_SECRET_ACCESS_KEY": servers.SECRET}
    return {**keys, "KEEPWHOLE_BLOBS": server.address(), ENDPOINT: server.endpoint, BUCKET: servers.BUCKET}


def bare_put(environ: Mapping[str, str]) -> Callable[[bytes], None]:
    """A function that puts bytes into the store under a new name, and does nothing else."""
    from obstore import put
    from obstore.store import S3Store

    store = S3Store(
        environ[BUCKET],
        endpoint=environ[ENDPOINT],
        region="us-east-1",
        access_key_id=environ["AWS_ACCESS_KEY_ID"],
        secret_access_key=environ["AWS_SECRET_ACCESS_KEY"],
        client_options={"allow_http": True},
    )

    def add(data: bytes) -> None:
        put(store, f"bare/{os.urandom(16).hex()}", data)

    return add
