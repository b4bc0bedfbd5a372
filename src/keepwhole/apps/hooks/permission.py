"""The permission that a client needs to read results back, as its user would write it, and whether it is given.

Owns: the rule for each client, and the clients' files in which it is looked for.
Must not know: how hooks are installed. These files are the user's: nothing here writes to them.
"""

import json
import os
from collections.abc import Mapping

from keepwhole.apps.hooks.payload import Json, mapping
from keepwhole.clients.claude_code import CLAUDE_CODE
from keepwhole.clients.opencode import OPENCODE
from keepwhole.clients.table import facts_of
from keepwhole.store.regular_file import read_regular

_LARGEST = 4 * 1_048_576
_OUTSIDE = "external_directory"


def advice(client: str, results: str, environ: Mapping[str, str], folder: str) -> str:
    """One sentence: whether the client may read the files in the folder `results`, and what to do where it may not."""
    home = os.path.expanduser("~")
    facts = facts_of(client)
    own = facts.settings.path(home, environ)
    if client == CLAUDE_CODE.name:
        here = os.path.join(folder, facts.project_settings)
        files = (f"{own}/settings.json", f"{here}/settings.json", f"{here}/settings.local.json")
        return _claude_code(results, home, *map(_read, files))
    if client == OPENCODE.name:
        return _opencode(results, *(_read(os.path.join(where, "opencode.json")) for where in (own, folder)))
    how = "It reads results back with `sed` in its shell. That needs no permission"
    return f"{how}, unless you forbid reading `{results}`."


def claude_code_rule(results: str, home: str) -> str:
    """The permission in Claude Code's syntax.

    >>> claude_code_rule("/home/u/.keepwhole/results", "/home/u"), claude_code_rule("/srv/results", "/home/u")
    ('Read(~/.keepwhole/results/**)', 'Read(//srv/results/**)')
    """
    return f"Read({'~' + results[len(home) :] if results.startswith(home + '/') else '/' + results}/**)"


def _claude_code(results: str, home: str, *settings: Json) -> str:
    rule = claude_code_rule(results, home)
    given = {"Read", rule, f"Read(/{results}/**)"}
    allowed: list[object] = [one for each in settings for one in _list(mapping(each.get("permissions")).get("allow"))]
    if any(one in given for one in allowed):
        return f"It may read results back without asking: `{rule}` is in `permissions.allow`."
    return (
        f"To let it read results back without asking, add `{rule}` to `permissions.allow`; "
        "Keepwhole does not change permissions."
    )


def _opencode(results: str, *settings: Json) -> str:
    rule = json.dumps({"permission": {_OUTSIDE: {f"{results}/**": "allow"}}})
    if not any(_denies(mapping(each).get("permission")) for each in settings):
        return f"The plugin lets it read results back without asking, as `{rule}` does."
    denied = "Your settings forbid it to read results, so nothing is shortened"
    return f"{denied}. To allow it, replace that rule by `{rule}`."


def _denies(permission: object) -> bool:
    """Whether opencode's settings forbid reading outside of the project, in whole or in part."""
    outside = permission if isinstance(permission, str) else mapping(permission).get(_OUTSIDE)
    if outside is None:
        outside = mapping(permission).get("*")
    return "deny" in ([outside] if isinstance(outside, str) else mapping(outside).values())


def _read(path: str) -> Json:
    """The settings in a file; empty where there are none that can be read."""
    try:
        return mapping(json.loads(read_regular(path, _LARGEST)))
    except (OSError, ValueError, RecursionError):
        return {}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
