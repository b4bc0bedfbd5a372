"""Writes down a record and settings as this version makes them: `python -m tests.upgrades.record_of_release`.

Run once when a version is released. The archive stays in the repository, and every later version must open it. Only
public names are used, so that the same script makes the archive of any version.
"""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from keepwhole import Session, SqliteStore
from keepwhole.version import VERSION

FOLDER = Path(__file__).parent / "records"
MODEL = "claude-sonnet-5"
SETTINGS = """\
policy: auto
preset: lean
mode: on
auto: {worth: 9000, start: 20000}
retrieval_limit: 20000
tools:
  truncation:
    inline_limit: 6000
    overrides:
      execute_command: {inline_limit: 3000, strategy: tail}
models:
  claude-sonnet-5: {window: 200000}
"""


def lines(name: str, count: int) -> str:
    """A log in which every line is another one."""
    texts = (f"{name} {number:05} target_{number * 37 % 1009} took {number * 7 % 100} ms" for number in range(count))
    return "".join(f"{text}\n" for text in texts)


def conversation() -> list[dict[str, Any]]:
    """Enough steps that `auto` cuts results on arrival and leaves old ones out."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find out why the build fails."}]
    for step in range(40):
        function = {"name": "bash", "arguments": json.dumps({"command": f"make part-{step}"})}
        call = {"id": f"c{step}", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": lines(f"part {step}", 20 + step % 5 * 60)},
        ]
    return messages


def write(folder: Path) -> dict[str, Any]:
    """Make the record; return what any later version must find in it."""
    store = SqliteStore(str(folder / "record"))
    kept: dict[str, dict[str, str]] = {}
    with Session("by-hand", store=store, agent="fixture") as session:
        for tool, output in {
            "bash": lines("make", 400),
            "read_file": "é\r\n" * 3_000,
            "query": json.dumps([{"id": number, "name": f"row {number}"} for number in range(3_000)]),
            "binary": bytes(range(256)) * 400,
        }.items():
            shown = session.keep(tool, {"path": tool}, output, call_id=f"call-{tool}")
            trace_id = str(shown.trace_id)
            kept[trace_id] = {"shown": shown.content, "digest": digest(session.recall_bytes(trace_id))}
    viewed = Session("talk", store=store)
    for end in range(1, len(conversation()) + 1, 2):
        sent = viewed.view(conversation()[:end], model=MODEL)
    with Session("gone", store=store, ephemeral=True) as session:
        session.keep("bash", None, lines("gone", 50))
    store.close()
    run(folder, "store", "backup", str(folder / "backup"))
    run(folder, "sessions", "export", "by-hand", "--raw", "--output", str(folder / "exported"))
    (folder / "keepwhole.yaml").write_text(SETTINGS, encoding="utf-8")
    return {"version": VERSION, "kept": kept, "sent": sent, "sessions": ["by-hand", "talk"]}


def run(folder: Path, *words: str) -> None:
    """Run a command over the record."""
    environ = {**os.environ, "KEEPWHOLE_HOME": str(folder / "record")}
    subprocess.run(
        [sys.executable, "-m", "keepwhole", *words], cwd=folder, env=environ, capture_output=True, check=True
    )


def digest(data: bytes) -> str:
    """The digest of a body."""
    return hashlib.sha256(data).hexdigest()


def main() -> int:
    """Write the archive of this version; refuse to replace one."""
    target = FOLDER / f"{VERSION}.tar.xz"
    if target.exists():
        print(f"{target} is there already. A released record is never made again.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name, tarfile.open(target, "w:xz") as archive:
        expected = json.dumps(write(Path(name))).encode()
        for path in sorted(Path(name).rglob("*")):
            if path.is_file() and path.suffix != ".lock":
                archive.add(path, path.relative_to(name).as_posix())
        entry = tarfile.TarInfo("expected.json")
        entry.size = len(expected)
        archive.addfile(entry, io.BytesIO(expected))
    print(f"{target}: {target.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
