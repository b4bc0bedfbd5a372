"""`make pin-images`: write the digest of every image into compose files and Dockerfiles, as the registry has it now.

Owns: where a file names an image, and asking for its digest. Must not know: which images those are.
"""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

IMAGE = re.compile(r"^(?P<before>\s*(?:-\s+)?(?:FROM|image:)\s+)(?P<name>[^\s@]+)(?P<digest>@\S+)?", re.MULTILINE)
"""A line of a Dockerfile or a compose file that names an image."""
PINNED = re.compile(r"@sha256:[0-9a-f]{64}")


def unpinned(text: str) -> list[str]:
    """Return the images that a file names without a version or without a digest."""
    return [
        found[0].strip()
        for found in IMAGE.finditer(text)
        if not re.search(r":\d", found["name"]) or not PINNED.fullmatch(found["digest"] or "")
    ]


def pinned(text: str, digest_of: Callable[[str], str]) -> str:
    """Return a file with the digest of every image."""
    return IMAGE.sub(lambda found: f"{found['before']}{found['name']}@{digest_of(found['name'])}", text)


def ask_registry(name: str) -> str:
    """Return the digest of an image for all its platforms; `SystemExit` if the registry does not give one."""
    asked = ["docker", "buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}", name]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    digest = done.stdout.strip()
    if done.returncode or not PINNED.fullmatch(f"@{digest}"):
        raise SystemExit(f"No digest for {name}; nothing was written. {done.stderr.strip()}")
    return digest


def main(*paths: str) -> None:
    """Rewrite files, after all digests are known."""
    texts = {path: pinned(Path(path).read_text(encoding="utf-8"), ask_registry) for path in paths}
    for path, text in texts.items():
        Path(path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
