"""What looks like a key does not get into a log, whoever logs it."""

import logging

import pytest

from keepwhole.apps.redaction import Redaction, redact_logs, redacted

KEYS = (
    "sk-ant-api03-AbCdEf_0123456789",
    "sk-proj-0123456789abcdef",
    "Bearer abc.def-0123456789",
    "hf-zurfVG2nucTMn45cOusvyEHQjEY0VXncpPiMu",
    "ghp_0123456789abcdefghijABCD",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA-0123456789abcdefghijk",
    "xoxb-1234567890-abcdef",
    "x-api-key: 0123456789abcdef",
    '"x-api-key": "0123456789abcdef"',
    '\\"X-Goog-Api-Key\\": \\"0123456789abcdef\\"',
    "Authorization: Basic dXNlcjpwYXNzd29yZA==",
    "Authorization: token 0123456789abcdef",
    r"https:\/\/user:secret@host",
)


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_hidden_and_the_words_around_it_are_not(key: str) -> None:
    said = redacted(f"request 7 with {key} failed")
    assert key not in said
    assert said.startswith("request 7 with ")
    assert said.endswith(" failed")


@pytest.mark.parametrize(
    "words",
    ["kept session=s trace=trace_AAAA bytes=12", "http://127.0.0.1:8787/v1/messages 200", "sk-", "authorization: none"],
)
def test_what_is_no_key_stays(words: str) -> None:
    assert redacted(words) == words


def test_logs_of_the_server_are_looked_at_arguments_and_tracebacks_too(caplog: pytest.LogCaptureFixture) -> None:
    redact_logs()
    redact_logs()
    log = logging.getLogger("aiohttp.server")
    assert sum(isinstance(each, Redaction) for each in log.filters) == 1
    with caplog.at_level(logging.WARNING):
        log.warning("bad header %r", KEYS[0])
        try:
            raise ValueError(f"no such header: {KEYS[1]}")
        except ValueError:
            log.exception("it broke")
    assert KEYS[0] not in caplog.text
    assert KEYS[1] not in caplog.text
    assert "no such header" in caplog.text
