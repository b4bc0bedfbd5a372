"""At least 95 % of the lines of modules for which a document asks for a floor are run by their own tests.

`python -m tests.coverage_floors` runs those tests, which takes half a minute; `make coverage` and CI call it.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
FLOOR = 95.0
MODULES = ("policies/retention.py", "policies/rolling.py", "standalone/*.py", "standalone/contexts/*.py")
"""Below `src/keepwhole`."""
TESTS = ("tests/policies/test_retention.py", "tests/policies/test_rolling.py", "tests/standalone")


def modules() -> list[str]:
    """Return the modules that have a floor, as paths from the root."""
    source = ROOT / "src" / "keepwhole"
    return sorted(path.relative_to(ROOT).as_posix() for pattern in MODULES for path in source.glob(pattern))


def too_low(shares: Mapping[str, float]) -> dict[str, float]:
    """Return the modules below their floor; one that was not measured is at nothing."""
    return {name: shares.get(name, 0.0) for name in modules() if shares.get(name, 0.0) < FLOOR}


def measure() -> dict[str, float]:
    """Run the tests of these modules and return the share of lines they run, in per cent."""
    with tempfile.TemporaryDirectory() as folder:
        data, report = f"--data-file={folder}/data", f"{folder}/report.json"
        include = f"--include={','.join(modules())}"
        tests = ["-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", "not torture", *TESTS]
        for command in (["run", data, include, *tests], ["json", "-q", data, include, "-o", report]):
            subprocess.run([sys.executable, "-m", "coverage", *command], cwd=ROOT, check=True)
        files = json.loads(Path(report).read_text(encoding="utf-8"))["files"]
    return {name: file["summary"]["percent_covered"] for name, file in files.items()}


def main() -> int:
    """Print the share of each module; return 1 if one is too low."""
    shares = measure()
    for name in modules():
        print(f"{shares.get(name, 0.0):6.1f} %  {name}")
    low = too_low(shares)
    if low:
        print(f"Below {FLOOR:.0f} %: {', '.join(low)}. Add tests of what their lines do.")
    return bool(low)


if __name__ == "__main__":
    sys.exit(main())
