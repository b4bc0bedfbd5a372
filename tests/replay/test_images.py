"""What a replay says of images: a source of tokens of their own, counted by the rule of the model that is asked."""

import pytest

from keepwhole.canonical.message import Call, Message
from keepwhole.logs.run import Run
from keepwhole.models.media_tokens import RULES, RuleName, media_tokens
from keepwhole.policies.other_systems import Everything
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.replay.replay import replay
from keepwhole.replay.run_facts import RunFacts
from tests.policies.builders import image_result
from tests.replay.recorded import Made

SHOTS = 6


def looks() -> Run:
    """A run that looks at the screen again and again."""
    messages = [Message("user", "Find the button.")]
    for number in range(SHOTS):
        messages.append(Message("assistant", calls=(Call(f"c{number}", "screenshot", "{}"),)))
        messages.append(Message("tool", returned=(image_result(f"c{number}", number),)))
    return Run(source="made/up", id="r", messages=(*messages, Message("assistant", "There it is.")))


@pytest.mark.parametrize("rule", RULES)
def test_images_are_counted_by_the_rule_of_the_model(rule: RuleName) -> None:
    media = image_result("c", 0).media
    assert media is not None
    outcome = replay(RunFacts(looks(), images=rule), Everything())
    assert outcome.sources.images == media_tokens(media.facts, rule) * sum(range(SHOTS + 1))
    assert outcome.sources.results == 0


def test_an_image_that_is_left_out_is_a_line_among_the_results() -> None:
    def clear(transcript: Transcript, item: Item) -> str | None:
        return "[an image]" if item.number < len(transcript.items) - 1 else None

    facts = RunFacts(looks())
    outcome = replay(facts, Made(ageing=clear))
    assert outcome.sources.images == facts.result_tokens[0] * SHOTS
    assert outcome.sources.results == facts.count_tokens("[an image]") * sum(range(SHOTS))
    assert sum(outcome.sources) == sum(request.total for request in outcome.requests)
