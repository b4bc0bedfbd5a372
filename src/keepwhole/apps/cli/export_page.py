"""`keepwhole sessions export --format html | json`: a session to look at without a record, a server or Keepwhole."""

import argparse

from keepwhole.apps.cli.command_context import CommandContext
from keepwhole.errors import UsageError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Describe the options of an export that is looked at."""
    parser.add_argument(
        "--format",
        choices=("archive", "html", "json"),
        default="archive",
        help="archive: what `import` reads; html: one page that opens without a server; json: the same as data",
    )
    parser.add_argument("--steps", metavar="A-B", help="html and json: only these steps, counted from 1")
    parser.add_argument(
        "--raw",
        action="store_true",
        help="include what looks like a key (default: masked; for an archive, such an entry is exported as its hash)",
    )


def export(context: CommandContext, name: str, args: argparse.Namespace) -> bytes:
    """The steps of a session as a page or as JSON."""
    from keepwhole.apps.inspector import export
    from keepwhole.apps.inspector.export import ExportRequest
    from keepwhole.apps.inspector.services import InspectorServices

    wanted = ExportRequest(*_range(args.steps), is_raw=args.raw)
    services = InspectorServices(context.settings, context.store)
    try:
        make = export.as_html if args.format == "html" else export.as_json
        return make(services, name, wanted)
    finally:
        services.close()


def _range(text: str | None) -> tuple[int, int | None]:
    first, _, last = (text or "1-").partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()):
        raise UsageError(f"`{text}` is not a range of steps. Give one such as `--steps 10-20`.")
    return int(first), int(last) if last else None
