"""Whether a result is an error: what the provider says of it, its exit code, or its shape.

Only the first and the last lines are looked at: a program says there that it failed, while a file that is about errors
has them anywhere. Costs the same for any length.
"""

import re

_LINES, _LONGEST = 5, 240
_WINDOW = 1_200
"""Characters at each end in which lines are looked for."""
_HINTS = (
    *("error", "err!", "fail", "fatal", "panic", "exception", "traceback", "exit", 'code"', "denied", "not found"),
    *("no such", "abort"),
    *("core dumped", "segm", "cannot", "could not", "can't", "refused", "timed out", "unable", "critical", "***"),
    *("forbidden", "unauthorized", "out of memory", " bad gateway", " unavailable", " bad request", "too many"),
)
"""One of these is in every line that the patterns below know; usually none is in a text."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_BEGINS = re.compile(
    r"""\s*(?:
      traceback\ \(most\ recent\ call\ last\)
    | (?<!\s)(?:[a-z_][\w$]*\.)*\w*(?:error|exception|failure)
      (?:\s*$|:(?!\w|\s*(?:false|null|\(?none\)?|0|no|\{|\[)?\s*(?:[,;\#]|$))|\[[a-z]?\d)
    | (?:fatal|panic|critical|abort(?:ed)?)(?:\ error)?(?:[:!]|$)
    | failed\b[:\ !(] | (?:unable\ to|could\ not|cannot|can't)\s
    | (?:npm|yarn|pnpm|pip)\ (?:err!|error)
    | make(?:\[\d+\])?:\ \*\*\*
    | thread\ '.{0,80}'\ panicked
    | -{3}\ fail:?\ |fail\t|failed\ (?:tests?|\S+::|\()
    | <(?:tool_use_)?error>
    | \[?(?:\d{4}-\d\d-\d\d[t\ ])?\d\d:\d\d:\d\d\S*\]?\s.{0,40}?\b(?:error|fatal|critical)\b
    | [\[(](?:error|fatal|critical)[\])]
    | (?:http\S*\s)?[45]\d\d:?\ (?:bad|unauth|forbid|not|method|internal|service|gateway|too|client|server|error)
    )""",
    re.VERBOSE,
)
_ANYWHERE = re.compile(
    r""":\ (?:(?:fatal\ )?error[:\ ]
          |(?:command\ not\ found|no\ such\ file\ or\ directory|permission\ denied|not\ found|connection\ refused)\b)
    | \b(?:segmentation\ fault|core\ dumped|operation\ timed\ out|out\ of\ memory)\b
    | \bexit(?:ed)?\s?(?:with\s)?(?:non-zero\s)?(?:(?:code|status)\s?[:=]?|[:=])\s?-?[1-9]\d{0,2}\b(?![.\w])
    | "(?:exit_?code|return_?code|status_?code)"\s*:\s*-?(?:[1-9]\d?|1\d\d|[45]\d\d)\b
    | "(?:error|is_?error)"\s*:\s*(?!null|false|""|\[\]|\{\}|0\b|none)\S
    | \b[1-9]\d*\ (?:failed|failures?|errors?)\b(?!\s*[=(])
    | \b(?:build|tests?|compilation|command|result):?\ (?:failed|failure)\b
    | \bcannot\ access\ ['"‘/]
    """,
    re.VERBOSE,
)


def is_error_text(text: str, flagged: bool = False, exit_code: int | None = None) -> bool:
    """Whether a result is an error.

    >>> is_error_text("fatal: not a git repository (or any of the parent directories): .git")
    True
    >>> is_error_text("class ParseError(Exception): ...")
    False
    """
    if flagged or exit_code not in (None, 0):
        return True
    lines = [line[:_LONGEST] for line in _ends(text)]
    near = "\n".join(lines).lower()
    hints = [hint for hint in _HINTS if hint in near]
    if not hints:
        return False
    return any(_says_error(line) for line in near.split("\n") if any(hint in line for hint in hints))


def _ends(text: str) -> list[str]:
    """The first lines and the last ones; a last one whose beginning is far away is left out."""
    head = text[:_WINDOW].strip("\r\n").splitlines()
    if len(text) <= _WINDOW:
        return head if len(head) <= 2 * _LINES else head[:_LINES] + head[-_LINES:]
    tail = text[-_WINDOW:].strip("\r\n").splitlines()[1:]
    return head[:_LINES] + tail[-_LINES:]


def _says_error(line: str) -> bool:
    """Whether a line in lower case says that something failed."""
    if "\x1b" in line:
        line = _COLOUR.sub("", line)
    return _BEGINS.match(line) is not None or _ANYWHERE.search(line) is not None
