"""What people are told of plans, unknown models, undo and searches that are not through."""

import json
import re
from pathlib import Path

import pytest

from keepwhole.apps.kept_words import shown_tokens
from keepwhole.apps.request_figures import Cost
from keepwhole.apps.search_progress import Looked, index_all
from keepwhole.apps.stated_cost import state_cost
from keepwhole.apps.window_contents import (
    WindowItem,
    items_of_request,
    items_of_results,
    largest_items,
    scale_items,
)
from keepwhole.canonical.entry import Decision
from keepwhole.canonical.media import Media
from keepwhole.models.media_tokens import media_tokens
from keepwhole.models.profiles import Profile
from keepwhole.models.tokens import estimate, estimate_from_length
from keepwhole.models.unmanaged import ClientRequest, UnmanagedClient, request_cost
from keepwhole.session import Session
from keepwhole.store.sqlite.store import SqliteStore
from tests.apps.cli.cli import Cli
from tests.build import decision, result

LINES = "".join(f"row {number} of a long output\n" for number in range(3_000))


def test_dollars_of_a_plan_are_said_to_be_at_list_price() -> None:
    billed, plan = state_cost(Cost(9, 9, 0.2, 0.5)), state_cost(Cost(9, 9, 0.2, 0.5, by_plan=True))
    assert (billed.as_dict["basis"], plan.as_dict["basis"]) == ("billed", "list price")
    assert billed.sentence.startswith("paid ≈ $0.200")
    assert plan.sentence.startswith("at list price")
    assert billed.amounts == plan.amounts


def test_a_loss_is_called_a_loss() -> None:
    lost = state_cost(Cost(9, 9, 0.5, 0.2))
    assert lost.sentence == "paid ≈ $0.500, with `mode: off` ≈ $0.200: lost ≈ $0.300, 150 % more"
    assert lost.amounts == ("$0.500", "$0.200", "−$0.300")
    assert lost.is_loss


def test_what_fills_the_window_is_listed_with_the_largest_first_after_rounding_too() -> None:
    items = [WindowItem("tool", str(number), tokens) for number, tokens in enumerate((7, 7, 7, 7, 7, 7, 1))]
    scaled = [item.tokens for item in scale_items(items, 100)]
    assert sum(scaled) == 100
    assert len(set(scaled)) > 2, "rounding has made the equal ones unequal"
    assert scaled == sorted(scaled, reverse=True)


def test_of_many_things_in_the_window_sixty_are_listed_and_the_rest_is_one() -> None:
    items = [WindowItem("tool", str(number), 100 - number, 2) for number in range(61)]
    assert largest_items(items[:60]) == items[:60]
    assert largest_items(items) == [*items[:59], WindowItem("rest", "4 more", 41 + 40, 4)]


def test_only_the_first_sixty_results_are_told_apart_by_an_argument() -> None:
    kept = [(result(tool="bash", arguments=f'{{"command": "make {number}"}}'), 900) for number in range(61)]
    told = [item.argument for item in items_of_results(kept)]
    assert told == [*(f"make {number}" for number in range(60)), None]


def test_words_that_are_the_whole_input_are_the_users() -> None:
    body = json.dumps({"model": "m", "instructions": "Be brief.", "input": "Fix the tests, please."}).encode()
    assert [(item.kind, item.tokens) for item in items_of_request(body, lambda _: None)] == [
        ("user", estimate("Fix the tests, please.")),
        ("system", estimate("Be brief.")),
    ]


def test_a_smaller_image_takes_the_tokens_of_its_size_and_not_of_its_characters() -> None:
    header = decision("trace_x").header
    assert isinstance(header, Decision)
    assert shown_tokens(header.replace(shown_chars=4_000)) == estimate_from_length(4_000)
    sized = header.replace(shown_chars=4_000, width=1_024, height=768)
    assert shown_tokens(sized) == media_tokens(Media("image/png", 0, b"", 1_024, 768))
    assert shown_tokens(sized.replace(height=None)) == estimate_from_length(4_000)


def test_a_request_that_the_window_could_not_hold_has_no_price_beyond_it() -> None:
    profile, client = Profile("claude", window=10_000), UnmanagedClient()
    client.send(ClientRequest(50_000, 0), profile)
    assert client.cost == request_cost(profile, 10_000, 0)


@pytest.mark.parametrize(("model", "known"), [("no-such-model", False), ("claude-sonnet-4-5", True)])
def test_the_window_of_an_unknown_model_is_reported_as_a_guess(tmp_path: Path, model: str, known: bool) -> None:
    cli = Cli(tmp_path)
    cli("keep", "--session", "s", "--tool", "bash", input=b"text")
    told = cli.json("status", "--session", "s", "--model", model)
    assert (told["window_is_known"], told["counted"]) == (known, "results")
    said = cli("status", "--session", "s", "--model", model).stdout.decode()
    assert (f"model `{model}` is unknown" in said) is not known


def test_undo_states_the_difference_and_the_second_one_changes_nothing(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli("keep", "--session", "s", "--tool", "bash", input=LINES.encode())
    name = cli.json("artifacts", "list", "--session", "s")[0]["artifact_id"]
    first, second = (cli.json("undo", name, "--session", "s") for _ in range(2))
    assert first["changed"]
    assert 0 < first["tokens"] < first["whole"]
    assert (second["changed"], second["tokens"], second["whole"]) == (False, 0, first["whole"])


def test_everything_is_indexed_before_a_search_is_through_and_progress_is_told(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    session = Session("s", store=store)
    for number in range(3):
        session.keep("bash", {}, f"{LINES}needle-{number}")
    told: list[Looked] = []
    index_all(store, "s", told.append)
    assert store.passages("s", until=0.0).is_all
    assert all(one.looked <= one.total == 3 for one in told)
    assert re.match(r"Searched 1 of 3 results so far", Looked(1, 3).words_while(False))
    store.close()
