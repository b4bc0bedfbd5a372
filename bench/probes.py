"""`python -m bench.probes [--markdown]`: which strategy keeps the needle, by kind of text and by budget.

Every cell is a share of needles kept over several generated texts. The question never repeats the words of the needle
as they stand, and lines that share some of them lie all around it.
"""

import argparse
import csv
import io
import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.truncation.configuration import ToolOverride, TruncationConfiguration
from holdfast.truncation.cut import TextSource
from holdfast.truncation.present import Artifact, present
from holdfast.truncation.result import TruncationResult
from holdfast.truncation.strategy import STRATEGIES


@dataclass(frozen=True)
class Topic:
    """One fact; `{}` stands for what only the needle says, so a view that holds that has kept the needle."""

    name: str
    fact: str
    question: str
    near: tuple[str, ...]
    close: str = ""
    """Most of the words of the fact, about something else."""


@dataclass(frozen=True)
class Language:
    """Topics and ordinary words of one language."""

    error: str
    topics: tuple[Topic, ...]
    words: tuple[str, ...]
    joint: str = " "
    stop: str = "."


ENGLISH = Language(
    "ERROR",
    (
        Topic(
            "explain_rejected_refund",
            "Payment gateway rejected the refund because certificate {} had expired",
            "Why are refunds being rejected at the gateway for our payments, was it some expiring certificate?",
            ("Payment gateway accepted the refund after one retry", "Certificate store refreshed, none expired today"),
            "Payment gateway rejected the refund because its amount was wrong",
        ),
        Topic(
            "compact_lisbon_ledger",
            "Replica in Lisbon fell behind the primary while compacting the ledger, marker {}",
            "How far does replication at Lisbon fall behind when ledgers are compacted?",
            ("Replica in Porto caught up with the primary", "Ledger compaction finished ahead of time"),
            "Replica in Lisbon fell behind the primary while copying the archive",
        ),
        Topic(
            "quarantine_scanned_archive",
            "Upload of invoice scans stopped: antivirus quarantined archive {}",
            "Which archives with scanned invoices did the antivirus put into quarantine when somebody was uploading?",
            ("Upload of invoice drafts finished", "Antivirus definitions are up to date for each archive"),
            "Upload of invoice scans stopped: antivirus was restarted",
        ),
        Topic(
            "flash_greenhouse_thermostat",
            "Thermostat in the greenhouse stopped reporting once firmware {} was flashed",
            "Since which firmware flashing do our greenhouses' thermostats no longer report anything?",
            ("Thermostat in the lobby reports normally", "Firmware of the greenhouse doors is current"),
            "Thermostat in the greenhouse stopped reporting once the fuse was changed",
        ),
        Topic(
            "release_nightly_lock",
            "Scheduler skipped the nightly reindex since lock {} was never released",
            "What lock, not having been released, made the scheduling skip reindexing at night?",
            ("Scheduler started the nightly backup", "Lock on the reindex table was released in time"),
            "Scheduler skipped the nightly reindex since nothing had changed",
        ),
    ),
    (
        *("request", "worker", "cache", "session", "page", "order", "customer", "index", "queue", "report", "update"),
        *("served", "waited", "moved", "checked", "stored", "opened", "closed", "loaded", "saved", "sent", "merged"),
        *("for", "with", "from", "under", "after", "before", "without", "near", "the", "a", "another", "every"),
    ),
)

GERMAN = Language(
    "FEHLER",
    (
        Topic(
            "explain_rejected_refund",
            "Das Zahlungsgateway lehnte die Erstattung ab, weil das Zertifikat {} abgelaufen war",
            "Warum werden Erstattungen vom Gateway abgelehnt, etwa wegen eines abgelaufenen Zertifikats?",
            ("Das Zahlungsgateway nahm die Buchung an", "Der Speicher der Zertifikate wurde erneuert"),
        ),
        Topic(
            "compact_lisbon_ledger",
            "Die Replik in Lissabon blieb beim Verdichten des Hauptbuchs zurück, Marke {}",
            "Wie weit bleiben die Lissabonner Repliken zurück, wenn Hauptbücher verdichtet werden?",
            ("Die Replik in Porto holte auf", "Das Verdichten endete vor der Zeit"),
        ),
        Topic(
            "flash_greenhouse_thermostat",
            "Der Thermostat im Gewächshaus meldet nichts mehr, seit Firmware {} eingespielt wurde",
            "Seit welcher eingespielten Firmware melden die Thermostate in unseren Gewächshäusern nichts?",
            ("Der Thermostat im Flur meldet wie immer", "Die Firmware der Türen ist aktuell"),
        ),
    ),
    (
        *("Anfrage", "Arbeiter", "Speicher", "Sitzung", "Seite", "Bestellung", "Kunde", "Verzeichnis", "Bericht"),
        *("wartete", "geprüft", "geöffnet", "geschlossen", "geladen", "gesendet", "verschoben", "übernommen"),
        *("für", "mit", "aus", "unter", "nach", "vor", "ohne", "nahe", "die", "der", "ein", "jede"),
    ),
)

CHINESE = Language(
    "错误",
    (
        Topic(
            "explain_rejected_refund",
            "支付网关拒绝了退款，因为证书{}已过期",
            "为什么退款会被网关拒绝？是不是证书过期了？",
            ("支付网关接受了付款", "证书库已刷新"),
        ),
        Topic(
            "compact_lisbon_ledger",
            "里斯本副本在压缩账本时落后，标记{}",
            "压缩账本的时候，里斯本的副本落后了多少？",
            ("波尔图副本已跟上", "账本压缩提前完成"),
        ),
        Topic(
            "flash_greenhouse_thermostat",
            "温室的恒温器在刷入固件{}后停止上报",
            "刷了哪个固件以后温室恒温器就不上报了？",
            ("大厅的恒温器上报正常", "门禁固件已是最新"),
        ),
    ),
    (
        *(
            "请求",
            "工人",
            "缓存",
            "会话",
            "页面",
            "订单",
            "客户",
            "索引",
            "队列",
            "报告",
            "更新",
            "等待",
            "移动",
            "检查",
        ),
        *("存储", "打开", "关闭", "加载", "保存", "发送", "合并", "之后", "之前", "没有", "每个", "另一个"),
    ),
    "",
    "。",
)

RUSSIAN = Language(
    "ОШИБКА",
    (
        Topic(
            "explain_rejected_refund",
            "Платёжный шлюз отклонил возврат, потому что сертификат {} истёк",
            "Почему шлюзом отклоняются возвраты, из-за сертификата с истёкшим сроком?",
            ("Платёжный шлюз принял оплату", "Хранилище сертификатов обновлено"),
        ),
        Topic(
            "compact_lisbon_ledger",
            "Реплика в Лиссабоне отстала при сжатии журнала, метка {}",
            "Насколько отстаёт лиссабонская реплика во время сжатия журналов?",
            ("Реплика в Порту догнала основную", "Сжатие закончилось раньше срока"),
        ),
        Topic(
            "flash_greenhouse_thermostat",
            "Термостат в теплице перестал отвечать после прошивки {}",
            "После какой прошивки термостаты теплиц больше не отвечают?",
            ("Термостат в холле отвечает исправно", "Прошивка дверей свежая"),
        ),
    ),
    (
        *("запрос", "рабочий", "кэш", "сессия", "страница", "заказ", "клиент", "индекс", "очередь", "отчёт"),
        *("ждал", "проверен", "открыт", "закрыт", "загружен", "сохранён", "отправлен", "перемещён"),
        *("для", "с", "из", "под", "после", "перед", "без", "около", "каждый", "другой"),
    ),
)


_LEAST, _MOST = 40_000, 100_000
_NEAR, _CLOSE = 12, 36
"""How often each distractor stands in a text."""
SPREAD = (0.5,)
THREE = (0.12, 0.5, 0.88)
BORDERS = (0.0, 1.0)


@dataclass(frozen=True)
class Probe:
    """One text, what must be found in a view of it, and what is asked."""

    kind: str
    variant: str
    text: str
    needles: tuple[str, ...]
    question: str


@dataclass(frozen=True)
class Fact:
    """What one unit of a text says; a needle has a secret, all others have none."""

    words: str
    topic: Topic | None = None
    secret: str = ""


Writer = Callable[[list[Fact], random.Random, Language], str]


@dataclass(frozen=True)
class Recipe:
    """How the texts of one variant are made."""

    kind: str
    variant: str
    write: Writer
    chars: int
    """About how much one unit takes, to come out within the sizes wanted."""
    language: Language = ENGLISH
    places: tuple[float, ...] = SPREAD
    is_close: bool = False
    """Whether distractors share most words of the fact, and not only some."""

    def probe(self, seed: int) -> Probe:
        """The probe of one seed."""
        chance = random.Random(f"{self.kind} {self.variant} {seed}")
        facts, needles = _facts(self, chance)
        text = self.write(facts, chance, self.language)
        question = " ".join(needle.topic.question for needle in needles if needle.topic)
        return Probe(self.kind, self.variant, text, tuple(needle.secret for needle in needles), question)


def sentence(chance: random.Random, language: Language, least: int = 5, most: int = 12) -> str:
    """Ordinary words in any order."""
    return language.joint.join(chance.choices(language.words, k=chance.randint(least, most)))


def _facts(recipe: Recipe, chance: random.Random) -> tuple[list[Fact], list[Fact]]:
    """All units in order, and those of them that are needles."""
    units = chance.randint(_LEAST + 10_000, _MOST - 20_000) // recipe.chars
    facts = [Fact(sentence(chance, recipe.language)) for _ in range(units)]
    topics = chance.sample(recipe.language.topics, min(len(recipe.places), len(recipe.language.topics)))
    for topic in topics:
        for words in (topic.close,) * _CLOSE if recipe.is_close else topic.near * _NEAR:
            facts[chance.randrange(units)] = Fact(words, topic)
    needles: list[Fact] = []
    for topic, place in zip(topics, recipe.places, strict=True):
        secret = f"{chance.choice('KQXZ')}{chance.choice('JVW')}{chance.randint(10_000, 99_999)}"
        needles.append(Fact(topic.fact.format(secret), topic, secret))
        jitter = chance.uniform(-0.05, 0.05) if 0 < place < 1 else 0
        facts[round((place + jitter) * (units - 1))] = needles[-1]
    return facts, needles


def _log(facts: list[Fact], chance: random.Random, language: Language) -> str:
    return "".join(_event(at, fact, chance, language.error) for at, fact in enumerate(facts))


def _event(at: int, fact: Fact, chance: random.Random, error: str) -> str:
    level = error if fact.secret else chance.choice(("INFO", "INFO", "DEBUG", "WARN"))
    words = f"{fact.words}, {chance.choice(('0 errors', 'in time', 'no failures'))}" if at % 97 == 0 else fact.words
    line = f"2026-02-03 {at // 3600 % 24:02d}:{at // 60 % 60:02d}:{at % 60:02d} {level} [{chance.randint(1, 9)}] "
    stack = "    at run (main.ts:12)\n    at start (boot.ts:7)\n" if fact.secret else ""
    return f"{line}{fact.words if fact.secret else words}\n{stack}"


def _noisy_log(facts: list[Fact], chance: random.Random, language: Language) -> str:
    """A log in which every twentieth line is an error that nobody asked for."""
    return "".join(
        _event(at, fact, chance, language.error)
        if at % 20 or fact.secret
        else f"2026-02-03 00:00:{at % 60:02d} ERROR [3] heartbeat failed: {sentence(chance, language, 2, 4)}\n"
        for at, fact in enumerate(facts)
    )


def _items(facts: list[Fact], chance: random.Random) -> list[dict[str, Any]]:
    return [
        {"id": 1_000 + at, "state": chance.choice(("open", "done")), "note": fact.words, "votes": chance.randint(0, 99)}
        for at, fact in enumerate(facts)
    ]


def _pretty(facts: list[Fact], chance: random.Random, language: Language) -> str:
    return json.dumps(_items(facts, chance), indent=2, ensure_ascii=False)


def _minified(facts: list[Fact], chance: random.Random, language: Language) -> str:
    return json.dumps(_items(facts, chance), separators=(",", ":"), ensure_ascii=False)


def _escaped(facts: list[Fact], chance: random.Random, language: Language) -> str:
    return json.dumps(_items(facts, chance))


def _wrapped(facts: list[Fact], chance: random.Random, language: Language) -> str:
    groups = [{"group": at, "items": _items(facts[at : at + 25], chance)} for at in range(0, len(facts), 25)]
    return json.dumps({"status": "ok", "data": {"groups": groups}, "total": len(facts)}, separators=(",", ":"))


def _ndjson(facts: list[Fact], chance: random.Random, language: Language) -> str:
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in _items(facts, chance))


def _name(at: int, fact: Fact, chance: random.Random) -> str:
    if fact.topic is None or not fact.secret:
        words = chance.choices([word for word in ENGLISH.words if len(word) > 3], k=3)
        return "_".join([*words, str(at)])
    return fact.topic.name


def _said(fact: Fact) -> str:
    """The words of a fact without its secret, which stands in the body."""
    return " ".join(fact.words.replace(fact.secret, "").split()) if fact.secret else fact.words


def _python(facts: list[Fact], chance: random.Random, language: Language) -> str:
    parts = ["import os\nimport sys\n"]
    for at, fact in enumerate(facts):
        body = "".join(f"    value_{n} = step({n}, {chance.randint(1, 999)})\n" for n in range(chance.randint(2, 5)))
        parts.append(
            f"\n\ndef {_name(at, fact, chance)}(value: int) -> str:\n"
            f'    """{_said(fact)}."""\n{body}    return "{fact.secret or at}"\n'
        )
    return "".join(parts)


def _typescript(facts: list[Fact], chance: random.Random, language: Language) -> str:
    parts = ['import { step } from "./step";\n']
    for at, fact in enumerate(facts):
        first, *others = _name(at, fact, chance).split("_")
        name = first + "".join(word.title() for word in others)
        body = "".join(f"  const v{n} = step({n}, {chance.randint(1, 999)});\n" for n in range(chance.randint(2, 5)))
        parts.append(
            f"\n// {_said(fact)}\nexport function {name}(value: number): string {{\n"
            f'{body}  return "{fact.secret or at}";\n}}\n'
        )
    return "".join(parts)


def _csv(facts: list[Fact], chance: random.Random, language: Language, separator: str = ",") -> str:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(["id", "day", "note", "amount"])
    for at, fact in enumerate(facts):
        writer.writerow([at, f"2026-03-{at % 28 + 1:02d}", fact.words, chance.randint(1, 9_999)])
    return file.getvalue()


def _semicolons(facts: list[Fact], chance: random.Random, language: Language) -> str:
    return _csv(facts, chance, language, ";")


def _quoted_lines(facts: list[Fact], chance: random.Random, language: Language) -> str:
    with_ends = [Fact(fact.words.replace(" ", "\n", 1), fact.topic, fact.secret) for fact in facts]
    return _csv(with_ends, chance, language)


def _diff(facts: list[Fact], chance: random.Random, language: Language) -> str:
    parts: list[str] = []
    for at, fact in enumerate(facts):
        if at % 6 == 0:
            path = f"src/part_{at // 6}.py"
            parts.append(f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n")
        context = [f"     {sentence(chance, language, 3, 6)}\n" for _ in range(6)]
        parts += [f"@@ -{at * 40 + 1},7 +{at * 40 + 1},7 @@\n", *context[:3]]
        parts += [f"-    {sentence(chance, language, 3, 6)}\n", f"+    {fact.words}\n", *context[3:]]
    return "".join(parts)


def _paragraphs(facts: list[Fact], chance: random.Random, language: Language, end: str = "\n\n") -> str:
    def paragraph(fact: Fact) -> str:
        around = [sentence(chance, language).capitalize() for _ in range(4)]
        return (language.stop + language.joint).join([*around[:2], fact.words, *around[2:]]) + language.stop

    return "".join(paragraph(fact) + end for fact in facts)


def _lines(facts: list[Fact], chance: random.Random, language: Language) -> str:
    return _paragraphs(facts, chance, language, "\n")


def _one_line(facts: list[Fact], chance: random.Random, language: Language) -> str:
    return _paragraphs(facts, chance, language, " ")


def _in_languages(kind: str, write: Writer, chars: tuple[int, int, int]) -> list[Recipe]:
    named = zip(("German", "Chinese", "Russian"), (GERMAN, CHINESE, RUSSIAN), chars, strict=True)
    return [Recipe(kind, name, write, size, language) for name, language, size in named]


RECIPES: tuple[Recipe, ...] = (
    Recipe("error in log", "one", _log, 90),
    Recipe("error in log", "three", _log, 90, places=THREE),
    Recipe("error in log", "borders", _log, 90, places=BORDERS),
    Recipe("error in log", "close distractors", _log, 90, places=THREE, is_close=True),
    Recipe("error in log", "among other errors", _noisy_log, 90),
    *_in_languages("error in log", _log, (95, 55, 95)),
    Recipe("element in JSON", "one", _pretty, 145),
    Recipe("element in JSON", "three", _pretty, 145, places=THREE),
    Recipe("element in JSON", "borders", _pretty, 145, places=BORDERS),
    Recipe("element in JSON", "close distractors", _pretty, 145, places=THREE, is_close=True),
    Recipe("element in JSON", "minified", _minified, 105),
    Recipe("element in JSON", "minified, three", _minified, 105, places=THREE),
    Recipe("element in JSON", "minified, nested", _wrapped, 105, places=THREE),
    Recipe("element in JSON", "NDJSON, three", _ndjson, 110, places=THREE),
    *_in_languages("element in JSON", _minified, (115, 70, 110)),
    Recipe("element in JSON", "Chinese as \\u escapes", _escaped, 150, CHINESE),
    Recipe("function in code", "one", _python, 240),
    Recipe("function in code", "three", _python, 240, places=THREE),
    Recipe("function in code", "borders", _python, 240, places=BORDERS),
    Recipe("function in code", "close distractors", _python, 240, places=THREE, is_close=True),
    Recipe("function in code", "TypeScript, three", _typescript, 270, places=THREE),
    *_in_languages("function in code", _python, (250, 200, 240)),
    Recipe("row in CSV", "one", _csv, 70),
    Recipe("row in CSV", "three", _csv, 70, places=THREE),
    Recipe("row in CSV", "borders", _csv, 70, places=BORDERS),
    Recipe("row in CSV", "close distractors", _csv, 70, places=THREE, is_close=True),
    Recipe("row in CSV", "quoted line ends", _quoted_lines, 75, places=THREE),
    *_in_languages("row in CSV", _semicolons, (80, 45, 75)),
    Recipe("hunk in diff", "one", _diff, 320),
    Recipe("hunk in diff", "three", _diff, 320, places=THREE),
    Recipe("hunk in diff", "borders", _diff, 320, places=BORDERS),
    Recipe("hunk in diff", "close distractors", _diff, 320, places=THREE, is_close=True),
    *_in_languages("hunk in diff", _diff, (340, 180, 330)),
    Recipe("paragraph in prose", "one", _paragraphs, 270),
    Recipe("paragraph in prose", "three", _paragraphs, 270, places=THREE),
    Recipe("paragraph in prose", "borders", _paragraphs, 270, places=BORDERS),
    Recipe("paragraph in prose", "close distractors", _paragraphs, 270, places=THREE, is_close=True),
    Recipe("paragraph in prose", "no empty lines", _lines, 270, places=THREE),
    Recipe("paragraph in prose", "one endless line", _one_line, 270),
    *_in_languages("paragraph in prose", _paragraphs, (300, 110, 290)),
)


BUDGETS = (2_000, 8_000)
SEEDS = range(4)
_DEFAULT, _UNASKED = "ours", "ours, not asked"
COLUMNS = (_DEFAULT, *STRATEGIES, _UNASKED)
_ARTIFACT = Artifact(artifact_id="art_1700000000_" + "0" * 22, summary="probe", size=1)
_PAGE = """<!-- Written by python -m bench.probes --markdown -->

# Needles kept

How much of what matters survives the cut, by kind of text and by strategy. Each text has 40 to 100 KB, facts hidden in
it, and lines around them that share some of their words (*close distractors*: most of them). The question asks for the
facts in other words and word forms. A cell is the share of needles that the view shows, over {seeds} texts each.

- `ours` is what Holdfast chooses by itself for the result of a tool that it does not know; `chose` names it.
- All strategies are given the question, except in the last column; `head`, `tail` and `lines` make no use of it.
- *One* needle lies in the middle; *three* lie near the beginning, in the middle and near the end, and are asked for in
  one question; *borders* are the very first and the very last unit. The languages have one needle, in the middle.
- Where a strategy can make nothing of a text, the view is `head_tail`'s, as it is for users.

The notice is part of the budget; `artifact_threshold` is lifted, so that both budgets are used in full.
"""


@dataclass
class Line:
    """The shares of one variant at one budget."""

    kind: str
    variant: str
    budget: int
    chose: set[str] = field(default_factory=set[str])
    kept: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COLUMNS, 0))
    needles: int = 0

    def share(self, column: str) -> float:
        """The share of needles kept in one column."""
        return self.kept[column] / self.needles if self.needles else 0.0


def view(text: str, budget: int, question: str, strategy: str | None = None) -> TruncationResult:
    """What a model would see."""
    overrides = {"probe": ToolOverride(strategy=strategy)} if strategy else {}
    policy = TruncationConfiguration(inline_limit=budget, artifact_threshold=10**9, overrides=overrides)
    limits = policy.for_tool("probe")
    limits = limits.replace(options=limits.options.replace(question=question))
    return present(TextSource(text), _ARTIFACT, limits, STRATEGIES)


def measure(recipe: Recipe, budget: int, probes: Iterable[Probe]) -> Line:
    """One line of the table."""
    line = Line(recipe.kind, recipe.variant, budget)
    for probe in probes:
        line.needles += len(probe.needles)
        for column in COLUMNS:
            question = "" if column == _UNASKED else probe.question
            seen = view(probe.text, budget, question, column if column in STRATEGIES else None)
            line.kept[column] += sum(needle in seen.content for needle in probe.needles)
            if column == _DEFAULT:
                line.chose.add(seen.metadata.strategy_used)
    return line


def lines() -> list[Line]:
    """The whole table."""
    made = [(recipe, [recipe.probe(seed) for seed in SEEDS]) for recipe in RECIPES]
    return [measure(recipe, budget, probes) for recipe, probes in made for budget in BUDGETS]


def total(of: Sequence[Line], budget: int) -> Line:
    """All variants together, each counting alike per needle."""
    summed = Line("all", "", budget)
    for line in of:
        summed.needles += line.needles
        for column in COLUMNS:
            summed.kept[column] += line.kept[column]
    return summed


def table(of: Sequence[Line], markdown: bool) -> str:
    """The lines as a table, shares in percent."""
    header = ["kind", "variant", "budget", "chose", *COLUMNS]
    body = [
        [line.kind, line.variant, f"{line.budget:,}", ", ".join(sorted(line.chose))]
        + [f"{line.share(column):.0%}" for column in COLUMNS]
        for line in [*of, *(total([line for line in of if line.budget == budget], budget) for budget in BUDGETS)]
    ]
    if markdown:
        rule = ["---"] * 4 + ["---:"] * len(COLUMNS)
        return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *body))
    widths = [max(len(row[at]) for row in (header, *body)) for at in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *body)
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.probes", description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print the page for the docs")
    args = parser.parse_args()
    found = table(lines(), args.markdown)
    print(f"{_PAGE.format(seeds=len(SEEDS))}\n{found}" if args.markdown else found)


if __name__ == "__main__":
    main()
