"""The one-call front door: a tool's text in, what fits out. Nothing is stored, so nothing can be read back.

Owns: the defaults of that call. Must not know: sessions, stores, settings files.
"""

from keepwhole.canonical.utf8 import encode
from keepwhole.errors import UsageError
from keepwhole.truncation.configuration import SMALLEST_INLINE_LIMIT, TruncationConfiguration
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.present import Artifact


def truncate(text: str, limit: int = 8_000, *, tool: str = "tool", question: str = "") -> str:
    """Return `text` if it has at most `limit` characters, else the parts that matter, with counts of what is missing.

    `tool` is the name of the tool that returned it: of a shell's output the end is kept, of a file both ends.
    `question` is what the text should answer: elements, rows, functions or paragraphs that share its rare words are
    kept first. What the text looks like matters most: JSON stays valid, a table keeps its header, a log its errors, a
    diff its headers.

    Nothing is stored. To be able to read back what is left out, use `keepwhole.session(…).keep(…)`.

    >>> log = "".join(f"test_{n} PASSED\\n" for n in range(900)) + "1 failed, 899 passed\\n"
    >>> shown = truncate(log, limit=300, tool="bash")
    >>> len(shown) <= 300, "1 failed, 899 passed" in shown, "omitted" in shown
    (True, True, True)
    """
    from keepwhole.policies.arrival import Arriving, show_within  # everybody imports this module, few cut this way

    if limit < SMALLEST_INLINE_LIMIT:
        raise UsageError(f"`limit` is {limit}; give a whole number of at least {SMALLEST_INLINE_LIMIT}.")
    limits = TruncationConfiguration().for_tool(tool).replace(inline_limit=limit)
    artifact = Artifact(artifact_id="", summary=tool, size=len(encode(text)[0]), is_stored=False)
    return show_within(limits, Arriving(TextSource(text), tool, "", artifact, question)).content
