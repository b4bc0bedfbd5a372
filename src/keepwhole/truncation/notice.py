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
    """The exact call that returns a gap: by lines where it begins and ends with whole ones, else by characters.

    Where the gap has a name that was asked for, the printed call searches for that: models make the call that is
    printed and no other, and a whole gap is more than most of them read.
    """
    are = "are left out in part" if in_part else "are left out"
    search = link.pattern(name) if name else ""
    if search:
        are += f'; they hold "{name}": {search}; all of it'
    first = source.ends_before(gap.start) + 1
    last = source.ends_before(gap.stop)
    begins_a_line = gap.start == 0 or source.text(gap.start - 1, gap.start) == source.eol
    ends_a_line = gap.stop == source.chars or source.text(gap.stop - 1, gap.stop) == source.eol
    if begins_a_line and ends_a_line:
        last = max(first, source.lines if gap.stop == source.chars else last)
        return f"Lines {first:,}-{last:,} of {source.lines:,} {are}: {link.lines(first, last)}"
    call = link.chars(gap.start, gap.stop, source)
    return f"Characters {gap.start:,}-{gap.stop:,} of {source.chars:,} {are}: {call}"


def binary(media_type: str, size: int, digest: bytes) -> str:
    """In place of a body that is not text."""
    return f"[Binary: {media_type}, {size_text(size)}, digest {digest.hex()[:16]}]"


def preview(link: RecallLink) -> str:
    """How to read a result of which only a preview is shown."""
    with_what = "Use the get_artifact tool to retrieve" if link.reader == "get_artifact" else "Retrieve"
    return (
        f"{with_what} specific portions:\n- {link.whole()} for full content\n- {link.lines(1, 100)} for first 100 lines"
    )


def unchanged(earlier: str) -> str:
    """Where a client refers to an earlier result of which only a part was shown."""
    return f"The file is unchanged, but the earlier result shows only a part of it.\n{earlier.strip()}"


def before(session: str, command: str) -> str:
    """After a conversation was resumed or compacted: where results are that are no longer in it.

    >>> before("s1", "keepwhole")
    'Tool results from before are on record, whole: `keepwhole search --session s1 WORDS` finds them, \
`keepwhole sessions show s1` lists them, `keepwhole show --session s1 STEP` prints one.'
    """
    return (
        f"Tool results from before are on record, whole: `{command} search --session {session} WORDS` finds them, "
        f"`{command} sessions show {session}` lists them, `{command} show --session {session} STEP` prints one."
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
