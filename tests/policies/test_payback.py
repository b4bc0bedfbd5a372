"""The batch of results that gains most is left out, and it is asked whether it can be afforded with its own tokens."""

from keepwhole.policies.payback import Carried, best_batch

OLD = [Carried(7, frees=900, saves=0), Carried(3, frees=900, saves=900)]
BEHIND = {7: 1_000, 3: 3_000}


def asked(price: float, ahead: float, answer: bool = True) -> tuple[list[int], list[tuple[float, float]]]:
    calls: list[tuple[float, float]] = []

    def affords(behind: float, freed: float) -> bool:
        calls.append((behind, freed))
        return answer

    return best_batch(OLD, BEHIND.__getitem__, price, ahead, affords), calls


def test_a_batch_is_as_large_as_its_results_and_costs_what_is_sent_anew_behind_the_oldest() -> None:
    assert asked(price=11.5, ahead=20) == ([7, 3], [(3_000, 1_800)])


def test_a_batch_that_gains_exactly_nothing_is_not_made_and_one_that_gains_a_little_is() -> None:
    even = 20 * 900 / (3_000 - 1_800)
    assert asked(price=even, ahead=20) == ([], [])
    assert asked(price=even - 0.001, ahead=20)[0] == [7, 3]


def test_a_batch_that_cannot_be_afforded_is_not_made() -> None:
    assert asked(price=11.5, ahead=20, answer=False) == ([], [(3_000, 1_800)])
