"""A pattern brings the whole unit: who looks for a name wants what belongs to it."""

import json

import pytest

from tests.recall.test_grep import asked, paged

RECORDS = [{"account": f"acct-{number:03}", "region": "north", "quota": 100 + number} for number in range(90)]
UNIT = '    "account": "acct-042",\n    "region": "north",\n    "quota": 142\n'


def lines_of(answer: str) -> list[str]:
    """The lines of the text that an answer shows, without their numbers."""
    return [line.split(" ", 1)[1] if " " in line else "" for line in answer.splitlines()[:-1]]


def found(text: str, pattern: str, **more: object) -> str:
    return "\n".join(lines_of(asked(paged(8_000), text, pattern=pattern, **more)))


def test_the_element_of_indented_json_comes_whole() -> None:
    assert found(json.dumps(RECORDS, indent=2), "acct-042") == "  {\n" + UNIT + "  },"
    nested = {"limits": {record["account"]: record for record in RECORDS}, "owner": "x"}
    assert '"quota": 142' in found(json.dumps(nested, indent=2), '"acct-042": {')


def test_the_element_of_json_on_one_line_comes_whole() -> None:
    shown = found(json.dumps({"service": "x", "limits": RECORDS}), "acct-042")
    assert '"quota": 142' in shown
    assert len(shown) < 2_100


def test_a_record_on_a_line_of_its_own_comes_whole() -> None:
    long = [{"id": f"acct-{number:03}", "note": "n" * 900, "quota": 100 + number} for number in range(30)]
    assert '"quota": 107' in found("".join(json.dumps(one) + "\n" for one in long), "acct-007")


def test_the_row_of_a_table_comes_with_its_header() -> None:
    rows = "".join(f"acct-{number:03},north,{100 + number}\n" for number in range(90))
    text = "account,region,quota\n" + rows
    assert found(text, "acct-042") == "account,region,quota\nacct-042,north,142"
    assert found(text, "quota") == "account,region,quota", "the header is not its own header"
    twice = found(text, "north").splitlines()
    assert (twice.count("account,region,quota"), len(twice)) == (1, 91)


@pytest.mark.parametrize("opened", ["<account>", '<account id="7">'])
def test_the_element_of_indented_xml_comes_whole(opened: str) -> None:
    items = "".join(
        f"  {opened}\n    <name>acct-{number:03}</name>\n    <quota>{100 + number}</quota>\n  </account>\n"
        for number in range(60)
    )
    shown = found(f"<?xml version='1.0'?>\n<accounts>\n{items}</accounts>\n", "acct-042")
    assert shown == f"  {opened}\n    <name>acct-042</name>\n    <quota>142</quota>\n  </account>"


def test_the_item_of_yaml_comes_whole() -> None:
    items = "".join(f"- name: acct-{number:03}\n  region: north\n  quota: {100 + number}\n" for number in range(60))
    unit = "- name: acct-042\n  region: north\n  quota: 142"
    assert found(items, "acct-042") == unit
    assert found(items, "quota: 142") == unit
    keyed = "".join(f"  acct-{number:03}:\n    quota: {100 + number}\n    region: x\n" for number in range(60))
    assert found("accounts:\n" + keyed, "acct-042") == "  acct-042:\n    quota: 142\n    region: x"
    assert found("accounts:\n" + keyed, "quota: 142") == "  acct-042:\n    quota: 142\n    region: x"


def test_a_line_of_plain_text_stays_alone_and_given_context_holds() -> None:
    text = "".join(f"  at {number} there are words\n" for number in range(90))
    assert found(text, "at 42 ") == "  at 42 there are words"
    records = json.dumps(RECORDS, indent=2)
    assert found(records, "acct-042", context=0) == '    "account": "acct-042",'
    assert len(found(records, "acct-042", context=1).splitlines()) == 3


def test_of_a_large_element_the_nearest_lines_are_shown() -> None:
    large = {f"key-{number:04}": number for number in range(900)}
    shown = found(json.dumps({"all": large}, indent=2), "key-0500").splitlines()
    assert len(shown) == 31
    assert '"key-0500": 500' in shown[15]


def test_two_matches_in_one_unit_show_it_once() -> None:
    shown = found(json.dumps(RECORDS, indent=2), "42")
    assert shown.count('"account": "acct-042"') == shown.count('"quota": 142') == 1
