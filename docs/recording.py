"""Writes the terminal recording of the README: `python -m docs.recording`.

It runs `keepwhole demo` and draws what it printed as an SVG whose lines appear one after the other. Ids, times and
counts of the crash test differ from run to run; `recorded_lines` reads the lines back, and a test compares the rest
with what the command prints today.
"""

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

RECORDING = Path(__file__).parent / "images" / "demo.svg"
COMMAND = "keepwhole demo"
_LINE, _LETTER, _LEFT, _TOP, _COLUMNS = 19, 7.83, 20, 66, 124
_DELAY, _PAUSE = 0.09, 0.6
_VARIES = (
    (re.compile(r"art_\d+_\w+"), "art_ID"),
    (re.compile(r"after [\d,]+ acknowledged"), "after N acknowledged"),
    (re.compile(r"verify: [\d,]+ entries, [\d.]+ .B"), "verify: N entries, SIZE"),
    (re.compile(r"took [\d.]+ s"), "took TIME"),
)
_STYLE = """
  .window { fill: #16181d } .bar { fill: #23262e } .title { fill: #8b919e }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d6dae3;
    white-space: pre }
  .head { fill: #7cc4ff; font-weight: 600 } .good { fill: #7ddc9a } .dim { fill: #8b919e } .prompt { fill: #f2c97d }
  .line { opacity: 0; animation: appear 0.01s forwards } @keyframes appear { to { opacity: 1 } }
  @media (prefers-reduced-motion: reduce) { .line { opacity: 1; animation: none } }
"""


def run_demo() -> list[str]:
    """The lines that the command prints now."""
    done = subprocess.run([sys.executable, "-m", "keepwhole", "demo"], capture_output=True, text=True, check=True)
    return done.stdout.rstrip().splitlines()


def draw(lines: list[str]) -> str:
    """The recording as one SVG without scripts, fonts or images of others."""
    width, height = round(2 * _LEFT + _COLUMNS * _LETTER), _TOP + _LINE * (len(lines) + 2)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join(
        [
            f'{head} role="img" aria-label="What `{COMMAND}` prints">',
            f"<style>{_STYLE}</style>",
            f'<rect class="window" width="{width}" height="{height}" rx="10"/>',
            f'<path class="bar" d="M0 34V10a10 10 0 0 1 10-10h{width - 20}a10 10 0 0 1 10 10v24z"/>',
            *(f'<circle cx="{20 + 20 * at}" cy="17" r="6" fill="#3a3f4b"/>' for at in range(3)),
            f'<text class="title" x="{width / 2}" y="21" text-anchor="middle">{COMMAND}</text>',
            f'<text class="prompt" x="{_LEFT}" y="{_TOP}">$ {COMMAND}</text>',
            *_drawn(lines),
            "</svg>\n",
        ]
    )


def _drawn(lines: list[str]) -> Iterator[str]:
    at = _PAUSE
    for number, line in enumerate(lines, 1):
        at += _PAUSE if re.match(r"\d  ", line) else _DELAY
        place = f'x="{_LEFT}" y="{_TOP + _LINE * number}" style="animation-delay: {at:.2f}s"'
        shown = line if len(line) <= _COLUMNS else line[: _COLUMNS - 1] + "…"
        yield f'<text class="line {_class_of(line)}" {place}>{html.escape(shown)}</text>'


def _class_of(line: str) -> str:
    if re.match(r"\d  ", line):
        return "head"
    if "✓" in line:
        return "good"
    return "dim" if "│" not in line and line.startswith(("tool ", "───", "That took")) else "text"


def recorded_lines(svg: str) -> list[str]:
    """The printed lines in a recording."""
    return [html.unescape(text) for text in re.findall(r'<text class="line [^>]*>(.*?)</text>', svg)]


def comparable(lines: list[str]) -> list[str]:
    """Lines as they are in every run: without ids, times and the counts of the crash test, cut as they are drawn."""
    found: list[str] = []
    for line in lines:
        for pattern, instead in _VARIES:
            line = pattern.sub(instead, line)
        found.append(line[:60])
    return found


if __name__ == "__main__":
    RECORDING.write_text(draw(run_demo()), encoding="utf-8")
