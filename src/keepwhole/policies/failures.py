r"""The one definition of a failed result: by the provider's flag, by its exit code, or by the shape of its lines.

Owns: which lines report a failure, and which of them to quote.
Must not know: who asks. `auto`, `rolling` and compaction all ask here.

Theory of operation
-------------------
Only the first five and the last five lines are looked at, and 240 characters of each: a program reports there that it
failed, while a file that is about errors mentions them anywhere. So a result of any length costs the same.

    1. `_HINTS`: one of these literals is in every line that the patterns know. Most results contain none of them, and
       are answered without a pattern.
    2. `_BEGINS` matches at the beginning of a line, where programs put the word: `fatal: …`, `KeyError: …`.
       `_ANYWHERE` finds what is a failure in any place: `main.c:3:5: error: …`, `"exit_code": 2`, `4 failed`.
    3. Several lines may match. The last one is quoted, since the reason comes last, unless it only counts or repeats
       that something failed (`_TALLY`) and another line says what:

           main.c:3:5: error: expected ';'        ← quoted
           1 error generated.
           make: *** [Makefile:7: app] Error 1

Invariants: what reports no trouble is no failure (`0 errors`, `error rate: 0`, `"error": null`, `exit code 0`), and
neither is a text that only talks of errors (`class ParseError`, `# Error handling`).
"""

import re

from keepwhole.canonical.lazy_pattern import lazy_pattern
from keepwhole.truncation.cut import Source
from keepwhole.truncation.error_words import CRASHES

_LINES, _LONGEST = 5, 240
_WINDOW = 1_200
"""Characters at each end in which lines are looked for."""
_HINTS = (
    *("error", "err!", "fail", "fatal", "panic", "exception", "traceback", "exit", 'code"', "denied", "not found"),
    *("no such", "abort", "killed", "terminated", "conflict", '"ok"', '"success"', "no module", "curl: ("),
    *("cannot", "could not", "can't", "refused", "timed out", "unable", "critical", "***"),
    *CRASHES,
    *("forbidden", "unauthorized", " bad gateway", " unavailable", " bad request", "too many"),
)
_COLOR = lazy_pattern(r"\x1b\[[0-9;]*m")
_BEGINS = lazy_pattern(
    r"""\s*(?:
      traceback\ \(most\ recent\ call\ last\)
    | (?<!\s)(?:[a-z_][\w$]*\.)*(?!(?:\w*_)?on_)\w*(?:error|exception|failure)
      (?:\s*$|:(?!\w|\s*(?:false|null|\(?none\)?|0|no|\{|\[)?\s*(?:[,;\#]|$))|\[[a-z]?\d)
    | exception\ in\ thread\ " | (?:unhandled|uncaught)\ (?:exception|\w*error)\b | caused\ by:\ \S*(?:error|exception)
    | error\ (?:response\ )?from\ | │\ error:\ | e:\ (?:unable|could|failed)
    | (?:fatal|panic|critical|abort(?:ed)?)(?:\ error)?(?:[:!]|$)
    | failed\b(?!\s*(?:=|:\s*(?:0|none|false|no)\b))[:\ !(] | (?:unable\ to|could\ not|cannot|can't)\s
    | (?:the\ )?(?:command|process|request|operation|execution|tool(?:\ call)?)\ (?:has\ )?timed\ out\b
    | (?:killed|terminated)(?::\ \d+)?\s*$
    | (?:\S+:\ line\ \d+:|\[\d+\]\ *[+-]?)\s+\d+\ (?:killed|terminated|aborted)\b
    | conflict\ \( | automatic\ merge\ failed
    | curl:\ \(\d+\)
    | (?:npm|yarn|pnpm|pip)\ (?:err!|error)
    | make(?:\[\d+\])?:\ \*\*\*
    | thread\ '.{0,80}'\ panicked
    | -{3}\ fail:?\ |fail(?:\t|$|:\ |\ \S+\.\w)|failed\ (?:tests?|\S+::|\()
    | <(?:tool_use_)?error>
    | \[?(?:\d{4}-\d\d-\d\d[t\ ])?\d\d:\d\d:\d\d\S*\]?\s
      (?!.{0,40}?\b(?:info|debug|trace|notice|warn(?:ing)?)\b).{0,40}?\b(?:error|fatal|critical)\b
    | [\[(](?:error|fatal|critical)[\])]
    | (?:http\S*\s)?[45]\d\d:?\ (?:bad|unauth|forbid|not|method|internal|service|gateway|too|client|server|error)
    | \{?\s*(?:"(?:ok|success)"\s*:\s*false\b|"status"\s*:\s*"(?:error|failed|failure)")
    )""",
    re.VERBOSE,
)
_ANYWHERE = lazy_pattern(
    r""":\ (?:(?:fatal\ )?error[:\ ]
          |(?:command\ not\ found|no\ such\ file\ or\ directory|permission\ denied|not\ found|connection\ refused
             |no\ module\ named|no\ space\ left\ on\ device)\b)
    | \b(?:CRASHES)\b
    | \bexit(?:ed)?\s?(?:with\s)?(?:non-zero\s)?(?:(?:code|status)\s?[:=]?|[:=])\s?-?[1-9]\d{0,2}\b(?![.\w])
    | "(?:exit_?code|return_?code|status_?code)"\s*:\s*-?(?:[1-9]\d?|1\d\d|[45]\d\d)\b
    | "(?:error|is_?error)"\s*:\s*(?!null|false|""|\[\]|\{\}|0\b|none)\S
    | \b[1-9]\d*\ (?:failed|failures?|errors?)\b(?!\s*[=(])
    | \b(?:build|tests?|compilation|command|result):?\ (?:failed|failure)\b
    | \bcannot\ access\ ['"‘/]
    | :in\ [`'].{1,80}\((?:\w+::)*\w*error\)\s*$
    """.replace("CRASHES", "|".join(CRASHES).replace(" ", r"\ ")),
    re.VERBOSE,
)
_TALLY = lazy_pattern(
    r"""\W*(?: make(?:\[\d+\])?:\ \*\*\* | fail(?:\t|$) | failed\ \( | build\ fail | traceback\ \(
      | (?:found\ |tests?:\s*)?\d+\ (?:failed|failures?|errors?)\b
      | (?:(?:process|command)\ )?exit(?:ed)?\b | "(?:exit_?code|return_?code|status_?code)"
    )""",
    re.VERBOSE,
)
"""Lines that say that something failed, and not what."""


def is_error_text(text: str, flagged: bool = False, exit_code: int | None = None) -> bool:
    """Return whether a result reports a failure; `flagged` is what the provider says of it.

    >>> is_error_text("fatal: not a git repository (or any of the parent directories): .git")
    True
    >>> is_error_text("class ParseError(Exception): ...")
    False
    """
    return flagged or exit_code not in (None, 0) or error_line(text) is not None


def is_error_source(source: Source, flagged: bool) -> bool:
    """The same as `is_error_text` for a text of any size, of which only the ends are read."""
    if source.chars <= 2 * _WINDOW:
        return is_error_text(source.text(0, source.chars), flagged)
    return is_error_text(source.text(0, _WINDOW) + source.text(source.chars - _WINDOW, source.chars), flagged)


def error_line(text: str) -> str | None:
    r"""Return the line to quote of a text that reports a failure, without colors; None where it reports none.

    >>> error_line("collected 4 items\nFAILED test_sums.py::test_sum - assert 42 == 41\n1 failed, 3 passed")
    'FAILED test_sums.py::test_sum - assert 42 == 41'
    """
    lines = [line[:_LONGEST] for line in _first_and_last_lines(text)]
    near = "\n".join(lines).lower()
    hints = [hint for hint in _HINTS if hint in near]
    if not hints:
        return None
    tally: str | None = None
    for line in reversed(lines):
        plain = _COLOR.sub("", line) if "\x1b" in line else line
        lower = plain.lower()
        if any(hint in lower for hint in hints) and (_BEGINS.match(lower) or _ANYWHERE.search(lower)):
            if not _TALLY.match(lower):
                return plain
            tally = tally or plain
    return tally


def _first_and_last_lines(text: str) -> list[str]:
    """Return the lines that are looked at; a last one whose beginning is too far away is left out."""
    head = text[:_WINDOW].strip("\r\n").splitlines()
    if len(text) <= _WINDOW:
        return head if len(head) <= 2 * _LINES else head[:_LINES] + head[-_LINES:]
    tail = text[-_WINDOW:].strip("\r\n").splitlines()[1:]
    return head[:_LINES] + tail[-_LINES:]
