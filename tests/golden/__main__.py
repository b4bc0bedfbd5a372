"""`python -m tests.golden`: compare what comes out now with what is recorded; `--write` records it anew."""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.golden import corpus, scenarios
from tests.golden.recorder import FILE, Recording, differences, grouped, read, write


def main() -> int:
    """Compare or write; 1 where something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--write", action="store_true", help="record what comes out now")
    parser.add_argument("--file", type=Path, help="the digests to compare with or to write")
    parser.add_argument("--group", action="append", choices=sorted(scenarios.GROUPS), help="only these groups")
    parser.add_argument("--corpus", type=Path, help="real transcripts in place of the made-up sessions; needs --file")
    parser.add_argument("--most", type=int, default=20, help="runs of each file of the corpus")
    parser.add_argument("--dump", type=Path, help="a folder to write everything that comes out to, for a look at it")
    args = parser.parse_args()
    if args.corpus and not args.file:
        parser.error("--corpus needs --file, outside of the repository: nothing of the corpus is committed")
    began = time.process_time()
    file: Path = args.file or FILE
    found = corpus.recorded(args.corpus, args.most) if args.corpus else _made_up(args.group, args.dump)
    seconds = time.process_time() - began
    if args.write:
        kept = {} if args.corpus or not args.group else read(file)
        for group in args.group or ():
            kept = {name: one for name, one in kept.items() if not name.startswith(f"{group}/")}
        write({**kept, **found}, file)
        print(f"{len(found)} recordings written to {file}, {seconds:.1f} s of CPU")
        return 0
    wanted = read(file)
    if args.group:
        wanted = {name: one for group in args.group for name, one in scenarios.of_group(wanted, group).items()}
    lines = differences(wanted, found)
    if lines:
        print(grouped(lines))
    print(f"{len(lines)} of {len(wanted)} recordings differ, {seconds:.1f} s of CPU")
    return 1 if lines else 0


def _made_up(groups: list[str] | None, dump: Path | None) -> dict[str, Recording]:
    found: dict[str, Recording] = {}
    for group in groups or scenarios.GROUPS:
        found |= scenarios.recorded(group, None if dump is None else _dumper(dump / group))
    return found


def _dumper(folder: Path) -> Callable[[str, bytes], None]:
    def dump(name: str, data: bytes) -> None:
        path = folder / name.partition("/")[2]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    return dump


if __name__ == "__main__":
    sys.exit(main())
