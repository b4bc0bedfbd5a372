"""Facts written as source code and diffs."""

import random

from bench.probes.language import Language
from bench.probes.languages import ENGLISH
from bench.probes.recipe import Fact


def _name(at: int, fact: Fact, chance: random.Random) -> str:
    if fact.topic is None or not fact.secret:
        words = chance.choices([word for word in ENGLISH.words if len(word) > 3], k=3)
        return "_".join([*words, str(at)])
    return fact.topic.name


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


def _words_of(fact: Fact) -> str:
    """The words of a fact without its secret, which is in the body."""
    return " ".join(fact.words.replace(fact.secret, "").split()) if fact.secret else fact.words


def _steps(chance: random.Random, line: str) -> str:
    """Some lines of a body, numbered."""
    return "".join(line.format(n, chance.randint(1, 999)) for n in range(chance.randint(2, 5)))


def python(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """A function for each fact, its secret in the body."""
    parts = ["import os\nimport sys\n"]
    for at, fact in enumerate(facts):
        body = _steps(chance, "    value_{0} = step({0}, {1})\n")
        parts.append(
            f"\n\ndef {_name(at, fact, chance)}(value: int) -> str:\n"
            f'    """{_words_of(fact)}."""\n{body}    return "{fact.secret or at}"\n'
        )
    return "".join(parts)


def typescript(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """The same with braces."""
    parts = ['import { step } from "./step";\n']
    for at, fact in enumerate(facts):
        name = _camel(_name(at, fact, chance))
        body = _steps(chance, "  const v{0} = step({0}, {1});\n")
        parts.append(
            f"\n// {_words_of(fact)}\nexport function {name}(value: number): string {{\n"
            f'{body}  return "{fact.secret or at}";\n}}\n'
        )
    return "".join(parts)


def go(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """Methods with tabs; the fact is inside the body and not above it."""
    parts = ['package steps\n\nimport "fmt"\n']
    for at, fact in enumerate(facts):
        body = _steps(chance, "\tv{0} := step({0}, {1})\n")
        parts.append(
            f"\nfunc (s *Steps) {_camel(_name(at, fact, chance))}(value int) string {{\n"
            f'{body}\t// {_words_of(fact)}\n\treturn fmt.Sprint("{fact.secret or at}")\n}}\n'
        )
    return "".join(parts)


def diff(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """A hunk for each fact, six per file."""
    parts: list[str] = []
    for at, fact in enumerate(facts):
        if at % 6 == 0:
            path = f"src/part_{at // 6}.py"
            parts.append(f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n")
        context = [f"     {language.sentence(chance, 3, 6)}\n" for _ in range(6)]
        parts += [f"@@ -{at * 40 + 1},7 +{at * 40 + 1},7 @@\n", *context[:3]]
        parts += [f"-    {language.sentence(chance, 3, 6)}\n", f"+    {fact.words}\n", *context[3:]]
    return "".join(parts)


def new_files(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """A diff of new files, each one large hunk."""
    parts: list[str] = []
    for at in range(0, len(facts), 30):
        path = f"notes/part_{at // 30}.md"
        some = facts[at : at + 30]
        parts.append(f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n")
        parts.append(f"@@ -0,0 +1,{len(some)} @@\n" + "".join(f"+{fact.words}\n" for fact in some))
    return "".join(parts)


def rewritten(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """A diff of one file in one hunk, every line of it replaced."""
    lines = "".join(f"-  {language.sentence(chance, 3, 6)}\n+  {fact.words}\n" for fact in facts)
    return f"Index: lock.txt\n--- a/lock.txt\n+++ b/lock.txt\n@@ -1,{len(facts)} +1,{len(facts)} @@\n{lines}"
