"""A server of prepared lines, for tests of what servers may send."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from keepwhole.apps.mcp.servers_file import ServerSpec
from tests.apps.mcp import scripted


@pytest.fixture
def serve(tmp_path: Path) -> Callable[..., ServerSpec]:
    """Makes a server of prepared lines; called again with the same name, it changes what that server says."""

    def made(script: dict[str, list[str]], name: str = "evil") -> ServerSpec:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(script))
        args = (scripted.__file__, str(path))
        return ServerSpec(name=name, kind="stdio", command=sys.executable, args=args, mode="legacy")

    return made
