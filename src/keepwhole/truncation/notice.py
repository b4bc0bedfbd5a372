"""The notices in a view: the words that say what is missing, and the mark on text that imitates them.

Owns: every sentence that a model may act on. What such a sentence looks like when a tool prints it is in
`imitation.py`: other words here are a new version there. Must not know: strategies, limits.

A tool may print text that looks like a notice, by accident or in order to mislead the model. In a view such text gets
`[quoted] ` in front of it; the record keeps it as it is. Marking is the last step, on the text as it is shown.
"""

from collections import deque
from itertools import pairwise

from keepwhole.truncation.cut import Cut, Inserted, Piece, Segment, Source
from keepwhole.truncation.imitation import imitations
from keepwhole.truncation.recall_link import RecallLink

MARK = "[quoted] "
LONGEST_RANGE = 4_000
"""Characters of the longest range that is printed. Models make the call that is printed, and a small one answered none
of 153 questions from a longer one."""
_READ_AGAIN = 10_000
"""Most shown characters that the call for all of a result brings once more: that costs about half a cent."""
_BESIDE = 4
"""Lines of data on each side of a match that a shell prints."""
_LONG_LINE = 1_000
"""Characters of a line, on average, above which a shell prints a part of it."""
_FIRST_LINES = 100
"""Most lines that a preview suggests."""


def omitted(lines: int, chars: int) -> str:
    """Between two kept parts.

    >>> omitted(150, 12340)
    '\\n... [150 lines / 12,340 chars omitted] ...\\n'
    """
    return f"\n... [{lines:,} lines / {chars:,} chars omitted] ...\n"


def remainder_omitted(lines: int, chars: int) -> str:
    """After a kept beginning."""
    return f"\n... [Remainder omitted: {lines:,} lines / {chars:,} chars] ..."


def beginning_omitted(lines: int, chars: int) -> str:
    """Before a kept end."""
    return f"... [Beginning omitted: {lines:,} lines / {chars:,} chars] ...\n"


def items_omitted(count: int) -> str:
    """In an array.

    >>> items_omitted(45)
    '... 45 items omitted ...'
    """
    return f"... {count:,} items omitted ..."


def keys_omitted(count: int) -> str:
    """In an object."""
    return f"{count:,} keys omitted"


def elements_omitted(count: int) -> str:
    """In XML."""
    return f"<!-- ... {count:,} elements omitted ... -->"


def text_omitted(chars: int) -> str:
    """In XML, for the text of one element."""
    return f"<!-- ... {chars:,} chars omitted ... -->"


def rows_omitted(count: int, chars: int) -> str:
    """After a table."""
    return f"... [{count:,} rows / {chars:,} chars omitted] ...\n"


def similar_lines(count: int) -> str:
    """In place of lines that differ from the one before only in numbers."""
    return f"... [{count:,} similar lines] ...\n"


def size_text(size: int) -> str:
    """Bytes for people: 1024 to the unit, one decimal.

    >>> size_text(2_411_725)
    '2.3 MB'
    """
    if size < 1024:
        return f"{size} bytes" if size != 1 else "1 byte"
    amount = float(size)
    for unit in ("KB", "MB", "GB", "TB"):
        amount /= 1024
        if amount < 1023.95 or unit == "TB":
            return f"{amount:.1f} {unit}"
    raise AssertionError("unreachable")


def reference(artifact_id: str, summary: str, size: int) -> str:
    """The line that names an artifact."""
    return f"[Artifact: {artifact_id}] {summary} ({size_text(size)})"


def left_out(summary: str, size: int) -> str:
    """In place of a result that is not stored, and of which nothing fits.

    >>> left_out("fetch", 2048)
    '[fetch: 2.0 KB left out]'
    """
    return f"[{summary}: {size_text(size)} left out]"


def aged(link: RecallLink, size: int, tool: str = "") -> str:
    """In place of a whole result: what it was. It is short, because the call is still visible above it.

    The definition of `get_artifact` says how to use it; any other link is written out.

    >>> aged(RecallLink("art_1_x"), 2048, "fetch_report")
    '[Artifact: art_1_x] 2.0 KB returned by fetch_report'
    """
    words = f"[Artifact: {link.artifact_id}] {size_text(size)}" + (f" returned by {tool}" if tool else "")
    return words if link.reader == "get_artifact" else f"{words}: {link.whole()}"


def aged_media(link: RecallLink, looks: str, size: int, tool: str) -> str:
    """In place of an image or a document: what it is, how large, of which tool, and the call that shows it again.

    >>> aged_media(RecallLink("art_1_x"), "image/png 1024x768", 153_600, "screenshot")
    '[Artifact: art_1_x] image/png 1024x768, 150.0 KB, returned by screenshot: get_artifact(id="art_1_x")'
    """
    return f"[Artifact: {link.artifact_id}] {looks}, {size_text(size)}, returned by {tool}: {link.whole()}"


def arguments_hidden(link: RecallLink) -> str:
    """In a result, or in what stands for it: how to read the arguments of its call, of which long ones are cut.

    >>> arguments_hidden(RecallLink("art_1_x"))
    'long arguments of this call are hidden: get_artifact(id="art_1_x", part="arguments")'
    """
    return f"long arguments of this call are hidden: {link.arguments()}"


def how_to_fetch(link: RecallLink, gap: Segment, source: Source, in_part: bool = False, name: str = "") -> str:
    """The exact call that returns a gap; where it has a name that was asked for, after the search for that."""
    are = "are left out in part" if in_part else "are left out"
    search = _search(link, source, name)
    if search:
        are += f'; they hold "{name}": {search}; all of it'
    lines = _lines_of(gap, source)
    where = f"Lines {lines[0]:,}-{lines[1]:,} of {source.lines:,}" if lines else ""
    where = where or f"Characters {gap.start:,}-{gap.stop:,} of {source.chars:,}"
    return f"{where} {are}: {_call(link, gap, lines, source)}"


def _search(link: RecallLink, source: Source, name: str) -> str:
    """The call that searches for a name and brings what belongs to it; empty where there is none."""
    if not name or link.reader == "get_artifact":
        return link.pattern(name) if name else ""
    from keepwhole.truncation.sniff import DATA, sniff  # its patterns are compiled only where files are read

    around = _BESIDE if sniff(source) in DATA else 0
    return link.pattern(name, around, in_long_lines=source.chars > _LONG_LINE * max(1, source.lines))


def _call(link: RecallLink, gap: Segment, lines: tuple[int, int] | None, source: Source) -> str:
    """The call that returns a gap, with no range longer than `LONGEST_RANGE`.

    Of a longer gap it is the call that reads the whole result, if little is shown of it; else the one that reads on
    from where the gap begins. Some short ranges in its place would split what belongs together.

    Where results are read from files the range stays: file tools show 2,000 lines of a plain read, and shells cut the
    middle of what they print.
    """
    hidden = gap.stop - gap.start
    if hidden <= LONGEST_RANGE or link.reader != "get_artifact":
        return link.lines(*lines) if lines else link.chars(gap.start, gap.stop, source)
    if source.chars - hidden <= min(hidden, _READ_AGAIN):
        return link.whole()
    return link.onward(first_line=lines[0]) if lines else link.onward(start=gap.start)


def _lines_of(gap: Segment, source: Source) -> tuple[int, int] | None:
    """The first and the last line of a gap that begins and ends with whole ones."""
    begins_a_line = gap.start == 0 or source.text(gap.start - 1, gap.start) == source.eol
    ends_a_line = gap.stop == source.chars or source.text(gap.stop - 1, gap.stop) == source.eol
    if not begins_a_line or not ends_a_line:
        return None
    first = source.ends_before(gap.start) + 1
    return first, max(first, source.lines if gap.stop == source.chars else source.ends_before(gap.stop))


def binary(media_type: str, size: int, digest: bytes) -> str:
    """In place of a body that is not text."""
    return f"[Binary: {media_type}, {size_text(size)}, digest {digest.hex()[:16]}]"


def preview(link: RecallLink, source: Source, name: str = "") -> str:
    """How to read a result of which only a preview is shown: the search for a name that was asked for, if any, all
    of it, its beginning.

    >>> from keepwhole.truncation.cut import TextSource
    >>> print(preview(RecallLink("art_1_x"), TextSource("row\\n" * 30_000), "report-3"))
    Use the get_artifact tool to retrieve specific portions:
    - get_artifact(id="art_1_x", pattern="report-3") for "report-3"
    - get_artifact(id="art_1_x") for full content
    - get_artifact(id="art_1_x", lines="1-100") for first 100 lines
    """
    with_what = "Use the get_artifact tool to retrieve" if link.reader == "get_artifact" else "Retrieve"
    search = _search(link, source, name)
    ways = [f'{search} for "{name}"'] if search else []
    ways += [f"{link.whole()} for full content", _beginning(link, source)]
    return "\n- ".join([f"{with_what} specific portions:", *ways])


def _beginning(link: RecallLink, source: Source) -> str:
    """The call for the first lines that are no longer than `LONGEST_RANGE` together, and what it brings."""
    fitting = source.lines if source.chars <= LONGEST_RANGE else source.ends_before(LONGEST_RANGE)
    lines = min(_FIRST_LINES, fitting)
    if lines:
        return f"{link.lines(1, lines)} for first {lines:,} line{'s' if lines > 1 else ''}"
    return f"{link.chars(0, LONGEST_RANGE, source)} for first {LONGEST_RANGE:,} characters"


def unchanged(earlier: str) -> str:
    """Where a client refers to an earlier result of which only a part was shown."""
    return f"The file is unchanged, but the earlier result shows only a part of it.\n{earlier.strip()}"


def before(session: str, command: str) -> str:
    """After a conversation was resumed or compacted: where results are that are no longer in it.

    >>> before("s1", "keepwhole")
    'Tool results from before are on record, whole: `keepwhole sessions show s1` lists them, \
`keepwhole search --session s1` finds the words put after it, `keepwhole show --session s1` prints the one whose \
number is put after it.'
    """
    return (
        f"Tool results from before are on record, whole: `{command} sessions show {session}` lists them, "
        f"`{command} search --session {session}` finds the words put after it, "
        f"`{command} show --session {session}` prints the one whose number is put after it."
    )


def neutralized(cut: Cut, source: Source) -> Cut:
    """The cut with every imitated notice in what it shows marked; the cut itself where there is none.

    What is left out without words between joins the text around it, so a stretch between two insertions is read as it
    is shown. Most cuts have nothing that looks like a notice, which one look at all stretches tells.
    """
    if not _may_imitate(cut, source):
        return cut
    pieces: list[Piece] = []
    stretch: list[Segment] = []
    for piece in cut.pieces:
        if isinstance(piece, Segment):
            stretch.append(piece)
        else:
            pieces += [*_marked(stretch, source), piece]
            stretch = []
    pieces += _marked(stretch, source)
    return cut if len(pieces) == len(cut.pieces) else cut.replace(pieces=tuple(pieces))


def _may_imitate(cut: Cut, source: Source) -> bool:
    """Whether one of the stretches of a cut may imitate a notice. A line end between two of them hides nothing that is
    found in one alone, unless a terminal sequence is left open there."""
    pieces = (piece for piece in cut.pieces if isinstance(piece, Inserted) or piece.part == "kept")
    shown = "".join(["\n" if isinstance(piece, Inserted) else source.text(piece.start, piece.stop) for piece in pieces])
    return "\x1b" in shown or imitates(shown)


def quoted(text: str) -> str:
    """A text with every imitated notice in it marked."""
    places = imitations(text)
    if not places:
        return text
    return text[: places[0]] + "".join(MARK + text[at:stop] for at, stop in pairwise([*places, len(text)]))


def imitates(text: str) -> bool:
    """Whether something in a text looks like a notice."""
    return bool(imitations(text))


def _marked(stretch: list[Segment], source: Source) -> list[Piece]:
    """The segments of one stretch, split where a mark goes."""
    kept = [segment for segment in stretch if segment.part == "kept"]
    places = imitations("".join([source.text(segment.start, segment.stop) for segment in kept]))
    if not places:
        return list(stretch)
    pieces: list[Piece] = []
    waiting, before = deque(places), 0
    for segment in stretch:
        if segment.part != "kept":
            pieces.append(segment)
            continue
        start, size = segment.start, segment.stop - segment.start
        while waiting and waiting[0] < before + size:
            at = segment.start + waiting.popleft() - before
            if at > start:
                pieces.append(Segment("kept", start, at))
            pieces.append(Inserted(MARK))
            start = at
        pieces.append(Segment("kept", start, segment.stop))
        before += size
    return pieces
