"""The biggest results with their histories, and the evidence that a policy hid although it was used later."""

from collections.abc import Sequence

from keepwhole.policies.policy import RULES
from keepwhole.replay.page.figures import Part, count, number, part, parts, plural, tokens, words
from keepwhole.replay.page.headline import examined_policy
from keepwhole.replay.page.markup import Markup, join, short, tag

_KINDS = {
    "args": "in the arguments of a call",
    "line": "as a line in the arguments of a call",
    "answer": "in an answer",
}


def results(report: Part) -> Markup | None:
    """Return the list of the biggest results; None if there are none."""
    found = parts(report, "results")
    if not found:
        return None
    tasks, policies = _tasks(report), _policies(report)
    return tag("ol", [_result(each, tasks, policies) for each in found], id="results", class_="cards")


def list_missed(report: Part) -> Markup | None:
    """Return the evidence that was not in context when a step used it, with the calls that bring it back."""
    found, tasks = parts(report, "missed"), _tasks(report)
    if not found:
        return None
    return join(_sum(report), tag("ol", [_card_of_missed(each, tasks) for each in found], id="missed", class_="cards"))


def _sum(report: Part) -> Markup:
    """Return how much was hidden in total; the list may be a part of it."""
    hidden = part(report, "hidden")
    all_of_it, gone, back = (number(hidden, key) for key in ("evidence", "hidden", "brought_back"))
    said = f"What {short(examined_policy(report), 40)} had taken out of context when a step used it."
    if all_of_it is not None and gone is not None:
        said += f" That is {count(gone)} of {plural(all_of_it, 'piece')} of evidence"
        said += "." if back is None else f"; one call each brings back {count(back)} of them."
    return tag("p", said, class_="said")


def _policies(report: Part) -> list[str]:
    """Return the policies that change something, the examined one first."""
    names = [words(row, "name") for row in parts(report, "policies") if not row.get("bound")]
    first = examined_policy(report)
    return [name for name in sorted(names, key=lambda name: name != first) if name != "everything"]


def _tasks(report: Part) -> dict[str, str]:
    """Return the task of each run, by its id."""
    return {words(run, "id"): words(run, "task") for run in parts(report, "runs")}


def _result(result: Part, tasks: dict[str, str], policies: Sequence[str]) -> Markup:
    became = part(result, "became")
    names = [*policies, *(name for name in became if name not in policies and name != "everything")]
    where = f"{_about(result, tasks)}, step {words(result, 'step')}"
    return tag(
        "li",
        tag("b", tokens(number(result, "tokens")), tag("small", " tokens"), class_="amount"),
        tag(
            "div",
            tag("p", tag("strong", _bdi(words(result, "tool"), 40)), " ", _code(words(result, "arguments"))),
            tag("p", _bdi(where, 110), " · ", _use_text(number(result, "used")), class_="quiet"),
            [_history(name, became) for name in names[:1]],
            _elsewhere(names[1:], became) if names[1:] else None,
        ),
    )


def _elsewhere(others: Sequence[str], became: Part) -> Markup:
    many = "another policy" if len(others) == 1 else f"{len(others)} other policies"
    return tag("details", tag("summary", f"Under {many}"), [_history(name, became) for name in others])


def _history(policy: str, became: Part) -> Markup:
    said = [tag("span", _event(each), class_="event") for each in parts(became, policy)] or "in full to the end"
    return tag("p", tag("span", _bdi(policy, 30), class_="policy"), " ", said, class_="became")


def _event(event: Part) -> str:
    left = number(event, "tokens")
    after = "" if left is None else f", {tokens(left)} tokens left"
    return f"step {words(event, 'step')}: {_rule_text(words(event, 'rule'))}{after}"


def _rule_text(rule: str) -> str:
    """Return what a rule does, without its reason."""
    return RULES.get(rule, short(rule, 60)).partition(", because")[0]


def _use_text(times: float | None) -> Markup | str:
    if times is None:
        return "uses not counted"
    if times == 1:
        return "used once"
    return f"used {count(times)} times" if times else tag("span", "never used again", class_="never")


def _card_of_missed(one: Part, tasks: dict[str, str]) -> Markup:
    return tag(
        "li",
        tag("b", tag("small", "step "), words(one, "step"), class_="amount"),
        tag(
            "div",
            tag("p", _code(words(one, "text"))),
            tag("p", _bdi(_about(one, tasks), 70), class_="quiet"),
            tag("p", _bdi(_origin(one), 300), class_="quiet"),
            _call(one),
        ),
    )


def _about(one: Part, tasks: dict[str, str]) -> str:
    run = words(one, "run")
    return short(tasks.get(run) or run, 70)


def _origin(one: Part) -> str:
    shown = (
        f"Shown by {short(words(one, 'tool'), 40)} at step {words(one, 'shown_at')}, {_rule_text(words(one, 'rule'))}"
    )
    return f"{shown}, then used {_KINDS.get(words(one, 'kind'), 'later')}."


def _call(one: Part) -> Markup | None:
    call = words(one, "call")
    if not call:
        return None
    says = "One call brings it back" if one.get("brought_back") else "Not found by the call that its notice names"
    kind = "back" if one.get("brought_back") else "lost"
    return tag("p", tag("span", says, class_=kind), " ", tag("code", short(call, 2_000)), class_="call")


def _code(text: str) -> Markup | None:
    return tag("code", tag("bdi", short(text, 160))) if text else None


def _bdi(text: str, most: int) -> Markup:
    return tag("bdi", short(text, most))
