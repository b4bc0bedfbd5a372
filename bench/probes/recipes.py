"""The texts that are probed: those used to write the strategies, and others that were added later.

`OTHERS` has other facts, languages and shapes, which were never used to choose between ways of cutting.
"""

from bench.probes import data, logs, prose, sources
from bench.probes.language import Language
from bench.probes.languages import CHINESE, ENGLISH, GERMAN, RUSSIAN
from bench.probes.more_languages import FRENCH, JAPANESE, KOREAN, OFFICE, SPANISH
from bench.probes.recipe import BORDERS, THREE, Recipe, Writer

_EUROPE_AND_CHINA = {"German": GERMAN, "Chinese": CHINESE, "Russian": RUSSIAN}
_ELSEWHERE = {"French": FRENCH, "Spanish": SPANISH, "Japanese": JAPANESE, "Korean": KOREAN}


def _usual(kind: str, write: Writer, chars: int, language: Language = ENGLISH) -> list[Recipe]:
    """What every kind of text is probed with."""
    return [
        Recipe(kind, "one", write, chars, language),
        Recipe(kind, "three", write, chars, language, THREE),
        Recipe(kind, "borders", write, chars, language, BORDERS),
        Recipe(kind, "close distractors", write, chars, language, THREE, is_close=True),
    ]


def _in(languages: dict[str, Language], kind: str, write: Writer, *chars: int) -> list[Recipe]:
    named = zip(languages.items(), chars, strict=True)
    return [Recipe(kind, name, write, size, language) for (name, language), size in named]


RECIPES: tuple[Recipe, ...] = (
    *_usual("error in log", logs.log, 90),
    Recipe("error in log", "among other errors", logs.noisy, 90, ENGLISH),
    *_in(_EUROPE_AND_CHINA, "error in log", logs.log, 95, 55, 95),
    *_usual("element in JSON", data.pretty, 145),
    Recipe("element in JSON", "minified", data.minified, 105, ENGLISH),
    Recipe("element in JSON", "minified, three", data.minified, 105, ENGLISH, THREE),
    Recipe("element in JSON", "minified, nested", data.wrapped, 105, ENGLISH, THREE),
    Recipe("element in JSON", "NDJSON, three", data.ndjson, 110, ENGLISH, THREE),
    *_in(_EUROPE_AND_CHINA, "element in JSON", data.minified, 115, 70, 110),
    Recipe("element in JSON", "Chinese as \\u escapes", data.escaped, 150, CHINESE),
    *_usual("function in code", sources.python, 240),
    Recipe("function in code", "TypeScript, three", sources.typescript, 270, ENGLISH, THREE),
    *_in(_EUROPE_AND_CHINA, "function in code", sources.python, 250, 200, 240),
    *_usual("row in CSV", data.table, 70),
    Recipe("row in CSV", "quoted line ends", data.quoted_lines, 75, ENGLISH, THREE),
    *_in(_EUROPE_AND_CHINA, "row in CSV", data.semicolons, 80, 45, 75),
    *_usual("hunk in diff", sources.diff, 320),
    Recipe("hunk in diff", "new files, three", sources.new_files, 60, OFFICE, THREE),
    Recipe("hunk in diff", "new files, borders", sources.new_files, 60, OFFICE, BORDERS),
    *_in(_EUROPE_AND_CHINA, "hunk in diff", sources.diff, 340, 180, 330),
    *_usual("paragraph in prose", prose.paragraphs, 270),
    Recipe("paragraph in prose", "no empty lines", prose.lines, 270, ENGLISH, THREE),
    Recipe("paragraph in prose", "one endless line", prose.one_line, 270, ENGLISH),
    Recipe("paragraph in prose", "filled to 72 columns", prose.filled, 270, OFFICE, THREE),
    *_in(_EUROPE_AND_CHINA, "paragraph in prose", prose.paragraphs, 300, 110, 290),
)

OTHERS: tuple[Recipe, ...] = (
    Recipe("error in log", "other facts, three", logs.noisy, 90, OFFICE, THREE),
    Recipe("error in log", "in a flood of errors", logs.flood, 110, OFFICE),
    Recipe("error in log", "in a flood, three", logs.flood, 110, OFFICE, THREE),
    Recipe("error in log", "in a flood, borders", logs.flood, 110, OFFICE, BORDERS),
    Recipe("error in log", "exit codes", logs.exits, 75, OFFICE, (0.12, 0.5)),
    *_in(_ELSEWHERE, "error in log", logs.log, 95, 95, 70, 70),
    Recipe("error in log", "Japanese, flood", logs.flood, 90, JAPANESE),
    Recipe("element in JSON", "keys of an object", data.keyed, 140, OFFICE, THREE),
    Recipe("element in JSON", "three levels", data.deep, 110, OFFICE, THREE),
    Recipe("element in JSON", "three levels, Japanese escaped", data.deep, 190, JAPANESE),
    Recipe("element in JSON", "Russian as \\u escapes", data.escaped, 300, RUSSIAN),
    Recipe("element in JSON", "NDJSON, Korean as \\u escapes", data.escaped_ndjson, 220, KOREAN),
    *_in(_ELSEWHERE, "element in JSON", data.pretty, 145, 145, 100, 100),
    Recipe("function in code", "Go", sources.go, 240, OFFICE, THREE),
    Recipe("function in code", "Go, borders", sources.go, 240, OFFICE, BORDERS),
    *_in(_ELSEWHERE, "function in code", sources.python, 250, 250, 210, 210),
    *_in(_ELSEWHERE, "row in CSV", data.semicolons, 80, 80, 50, 50),
    Recipe("hunk in diff", "one long hunk, three", sources.rewritten, 90, OFFICE, THREE),
    Recipe("hunk in diff", "one long hunk, borders", sources.rewritten, 90, OFFICE, BORDERS),
    *_in(_ELSEWHERE, "hunk in diff", sources.diff, 340, 340, 190, 190),
    Recipe("paragraph in prose", "indented, CRLF", prose.indented, 285, OFFICE, THREE),
    Recipe("paragraph in prose", "indented, CRLF, Russian", prose.indented, 300, RUSSIAN, THREE),
    Recipe("paragraph in prose", "one endless line, three", prose.one_line, 270, OFFICE, THREE),
    *_in(_ELSEWHERE, "paragraph in prose", prose.lines, 300, 300, 120, 130),
)
