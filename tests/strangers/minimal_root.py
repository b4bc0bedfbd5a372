"""Visits the pages in new minimal systems, as `make strangers` does: Debian with its own Python, and nothing else.

    python -m tests.strangers.minimal_root                 the oldest and the newest Python, README and goal pages
    python -m tests.strangers.minimal_root forky --whole   the newest alone, with `make test` as the README prints it
    python -m tests.strangers.minimal_root --release       no pages: `make release-check`, as a maintainer with git

The visitor is a new user without rights, in a home and a clone with odd names, on a machine without a compiler, git or
a network: what pip needs is downloaded before, as wheels. Needs root, debootstrap and a Debian mirror.
"""

import argparse
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.strangers import visitor

ROOT = Path(__file__).parents[2]
ROOTS = ROOT / ".strangers"
SUITES = {"bookworm": "3.11", "forky": "3.14"}
"""Debian suites with the oldest and the newest Python that the package names."""
PACKAGES = ("python3", "python3-venv", "make", "postgresql", "openssl")
OF_MAINTAINERS = ("git",)
"""What is installed beside that for a release."""
REQUIREMENTS = ("uv", "run", "dev", "site")
GOALS = ("truncation", "own-loop", "claude-code", "what-did-it-see", "langgraph-postgres")
"""The last one changes the visitor's settings, so it is the last."""
PAGES = ("README.md", *(f"docs/goals/{name}.md" for name in GOALS))
HOME = f"home/{visitor.HOME}"
CLONE = f"{HOME}/søurce (new) & 50%"
"""Not with double quotes or dollars: the scripts that pip writes cannot be started there."""
_NETWORK = ("PIP_", "UV_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_FILES = ("etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt")
_TEST = "make quick"
"""What stands for `make test`, which takes a quarter of an hour."""
PASSWORD = "of a visit"


def mirror() -> str:
    """The mirror of Debian that this machine installs its own packages from; on other systems, debootstrap's own."""
    asked = ("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian")
    found = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()
    program = Path(shutil.which("debootstrap") or "").read_text(encoding="utf-8")
    found += re.findall(r'^DEF_MIRROR="(http\S+/debian)"', program, re.M)
    if not found:
        raise SystemExit("No mirror of Debian is known here. On Debian, run `apt-get update`, then this again.")
    return found[0]


def made(suite: str, *more: str) -> Path:
    """The folder with a system, which is made on first use; one with more packages is another system."""
    root = ROOTS / "-".join([suite, *more])
    if not (root / "made").exists():
        print(f"Making {root.relative_to(ROOT)}, about two minutes …", flush=True)
        scripts = Path("/usr/share/debootstrap/scripts")
        script = [scripts / "sid"] if not (scripts / suite).exists() else []
        packages = f"--include={','.join(PACKAGES + more)}"
        run("debootstrap", "--variant=minbase", packages, suite, root, mirror(), *script)
        (root / "made").touch()
    return root


def run(*words: object, **options: object) -> None:
    """Run a command; what it prints is shown only when it fails."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(f"{' '.join(str(word) for word in words)}\n{done.stdout[-3_000:]}{done.stderr[-3_000:]}")


def check_minimal(root: Path, *more: str) -> None:
    """What a stranger may not have is not there."""
    for name in {"cc", "gcc", "git", "curl", "node"} - set(more):
        assert not (root / "usr/bin" / name).exists(), f"{name} is in {root}"


def put_clone(root: Path) -> None:
    """Put the tracked files as they are now into a folder of the visitor; what an earlier visit left is removed."""
    shutil.rmtree(root / HOME, ignore_errors=True)
    (root / CLONE).mkdir(parents=True)
    changed = subprocess.run(["git", "stash", "create"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    archive = subprocess.check_output(["git", "archive", changed.strip() or "HEAD"], cwd=ROOT)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(root / CLONE, filter="data")


def put_repository(root: Path) -> None:
    """Put a clone of the repository at its newest commit into a folder of the maintainer, as `put_clone` does files."""
    shutil.rmtree(root / HOME, ignore_errors=True)
    (root / HOME).mkdir(parents=True)
    run("git", "clone", "--quiet", "--no-hardlinks", ROOT, root / CLONE)


def download(root: Path) -> None:
    """Put the wheels that the pages install into `/wheels`; no package may need a compiler."""
    for name in _FILES:
        if Path("/", name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(Path("/", name), root / name)
    variables = [f"{name}={value}" for name, value in os.environ.items() if name.startswith(_NETWORK)]
    inside = ["chroot", root, "env", "-i", f"--chdir=/{CLONE}", "PATH=/usr/bin:/bin", *variables]
    (root / "etc/uv").mkdir(exist_ok=True)
    (root / "etc/uv/uv.toml").write_text('[pip]\nno-index = true\nfind-links = ["/wheels"]\n')
    run(*inside, "python3", "-m", "venv", "/fetch")
    pip = [*inside, "/fetch/bin/pip", "download", "--only-binary=:all:", "--quiet", "-d", "/wheels"]
    for wanted in (
        ["hatchling", "editables", ".[proxy,sdk]"],
        [".[langchain,postgres]"],
        *(["-r", f"requirements/{name}.txt"] for name in REQUIREMENTS),
    ):
        run(*pip, *wanted)


def enter(root: Path, *words: str) -> int:
    """Run a command as the visitor: no network but loopback, an own process tree, a small environment."""
    run("chroot", root, "chown", "-R", "1000:1000", f"/{HOME}")
    environ = [
        f"HOME=/{HOME}",
        f"PATH=/{CLONE}/venv/bin:/{HOME}/bin:/usr/bin:/bin",
        "LANG=C.UTF-8",
        "TERM=xterm",
        "PIP_NO_INDEX=1",
        "PIP_FIND_LINKS=/wheels",
        "PIP_DISABLE_PIP_VERSION_CHECK=1",
        f"PGPASSWORD={PASSWORD}",
    ]
    inside = ["chroot", "--userspec=1000:1000", str(root), "env", "-i", *environ, *words]
    isolated = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", sys.executable]
    isolated += ["-m", "tests.strangers.minimal_root", "--inside"]
    return subprocess.run([*isolated, str(root), *inside], cwd=ROOT, check=False).returncode


def inside(root: str, command: list[str]) -> None:
    """In namespaces of its own: mount what programs expect, bring loopback up, go on as the command."""
    for words in (("-t", "proc", "proc", f"{root}/proc"), ("--rbind", "/dev", f"{root}/dev")):
        subprocess.run(["mount", *words], check=True)
    bring_loopback_up()
    run("chroot", root, "sh", "-e", "/start_server")
    os.umask(0o077)
    os.execvp(command[0], command)


def bring_loopback_up() -> None:
    """What `ip link set lo up` does, which is not everywhere."""
    import fcntl
    import socket
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


def visit(suite: str, test: str) -> int:
    """Visit the pages in one system; return its exit code."""
    root = made(suite)
    check_minimal(root)
    put_clone(root)
    download(root)
    visitor.furnish(root / HOME)
    put_server(root)
    version = subprocess.run(["chroot", root, "python3", "-V"], capture_output=True, text=True, check=True).stdout
    print(f"\n{suite}, {version.strip()}, user 1000, no compiler, no network, in /{CLONE}\n", flush=True)
    assert version.split()[1].startswith(SUITES[suite])
    followed = f'python3 -m venv venv && exec python3 tests/strangers/visit.py --stand-in "make test={test}" "$@"'
    return enter(root, "sh", "-c", f'cd "$0" && {followed}', f"/{CLONE}", *PAGES)


def release(suite: str) -> int:
    """Run `make release-check` in one system; return its exit code."""
    root = made(suite, *OF_MAINTAINERS)
    check_minimal(root, *OF_MAINTAINERS)
    put_repository(root)
    download(root)
    put_server(root)
    put_name(root)
    return enter(root, "sh", "-c", 'cd "$0" && python3 -V && exec make release-check', f"/{CLONE}")


def put_name(root: Path) -> None:
    """Give the maintainer a name, which PostgreSQL asks for where tests make a server of their own."""
    users = root / "etc/passwd"
    if ":1000:1000:" not in users.read_text(encoding="utf-8"):
        with users.open("a", encoding="utf-8") as file:
            file.write(f"maintainer:x:1000:1000::/{HOME}:/bin/sh\n")


def put_server(root: Path) -> None:
    """Put what starts the server `db.example` of the page on teams: TLS and passwords, and two roles."""
    made_by = shutil.copyfile(Path(__file__).parent / "start_server.sh", root / "start_server")
    words = {"PASSWORD": PASSWORD, "HOME": f"/{HOME}"}
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in words.items()]
    made_by.write_text("".join(lines) + made_by.read_text())


def main() -> int:
    """Visit the systems named on the command line, or all."""
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of Debian: {', '.join(SUITES)}")
    parser.add_argument("--whole", action="store_true", help="`make test` as printed, not `make quick` in its place")
    parser.add_argument("--release", action="store_true", help="`make release-check`, and no pages")
    args = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("This needs root and debootstrap: `apt-get install debootstrap`.", file=sys.stderr)
        return 2
    suites: list[str] = args.suites or list(SUITES)
    if args.release:
        return max([release(suite) for suite in suites])
    return max([visit(suite, "make test" if args.whole else _TEST) for suite in suites])


if __name__ == "__main__":
    raise SystemExit(main())
