"""`keepwhole sent [ID]`: every request that went to a provider, and any of them exactly as it was sent."""

import argparse
import base64
from typing import Any

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.apps.request_figures import sizes
from keepwhole.errors import NotFound
from keepwhole.exchange.request_log import LoggedRequest, RequestLog


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser)
    parser.add_argument("id", metavar="ID", nargs="?", help="the request to print (default: list all)")
    parser.add_argument("--response", action="store_true", help="print the answer to it instead")
    parser.set_defaults(act=sent)


def sent(args: argparse.Namespace) -> int:
    """List requests, or print one or its response."""
    context = CommandContext(args)
    try:
        return _list(context, args.json) if args.id is None else _print(context, args)
    finally:
        context.close()


def _list(context: CommandContext, json: bool) -> int:
    name = context.current_session().name
    steps = RequestLog(context.session(name)).all()
    if json:
        screen.print_json({"session": name, "requests": [_as_dict(step) for step in steps]})
        return 0
    if not steps:
        advice = "`keepwhole wrap` and `keepwhole proxy` record them."
        screen.say(f"Session {screen.line(name)} has no recorded request. {advice}")
        return 0
    rows = [_row(step) for step in steps]
    headers = ("Time", "Branch", "Model", "Everything", "Sent", "Expected", "Cached", "Outcome", "ID")
    screen.print_table(headers, rows, right=(3, 4, 5, 6))
    return 0


def _print(context: CommandContext, args: argparse.Namespace) -> int:
    kind = "response" if args.response else "request"
    name = context.session_with(kind, args.id)
    if name is None:
        raise NotFound(f"There is no {kind} `{args.id[:80]}` here. `keepwhole sent` lists what was sent.")
    found = RequestLog(context.session(name))
    data = found.response(args.id) if args.response else found.body(args.id)
    if not args.json:
        screen.pass_on([data])
        return 0
    about = [_as_dict(step) for step in found.all() if step.request.trace_id == args.id]
    screen.print_json({"session": name, "requests": about, "body": base64.b64encode(data).decode("ascii")})
    return 0


def _row(step: LoggedRequest) -> tuple[object, ...]:
    request, response = step.request, step.response
    tokens_sent, tokens_whole = map(round, sizes(step))
    figures = (tokens_whole, tokens_sent, request.predicted, response.cached if response else None)
    shown = ("-" if figure is None else f"{figure:,}" for figure in figures)
    return (screen.format_time(request.at), request.branch, request.model, *shown, step.outcome, request.trace_id)


def _as_dict(step: LoggedRequest) -> dict[str, Any]:
    response = _in_bytes(step.response.as_dict()) if step.response else None
    request = _in_bytes(step.request.as_dict())
    return {"seq": step.seq, "outcome": step.outcome, "request": request, "response": response}


def _in_bytes(facts: dict[str, Any]) -> dict[str, Any]:
    """What is recorded of a request or an answer, with its size under the name that every output has."""
    return {"bytes" if name == "size" else name: value for name, value in facts.items()}
