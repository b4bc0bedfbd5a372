"""The address of a record in PostgreSQL, and how it may be shown.

Owns: that a password is in no error, log or list of settings.
"""

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from holdfast.errors import ConfigError

SCHEMES = ("postgresql://", "postgres://")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SEARCH_PATH = re.compile(r"search_path=([^\s,]+)")
_SECRET = ("password", "sslpassword", "passfile", "sslkey")


class Address(NamedTuple):
    """Where a record lies: what the server is asked with, the schema in it, and both as they may be shown."""

    url: str
    schema: str
    shown: str


def is_address(text: str) -> bool:
    """Whether this names a record in PostgreSQL rather than a folder."""
    return text.startswith(SCHEMES)


def address_of(text: str) -> Address:
    """An address with its schema told apart: `?schema=`, else the search path in its options, else `holdfast`."""
    try:
        parts = urlsplit(text)
        asked = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        raise ConfigError(f"{_HOW} It cannot be read.") from None
    rest = [(key, value) for key, value in asked if key != "schema"]
    options = _SEARCH_PATH.search(dict(asked).get("options", ""))
    schema = dict(asked).get("schema") or (options.group(1) if options else "holdfast")
    if _SCHEMA.fullmatch(schema) is None:
        raise ConfigError("A schema's name has small letters, digits and `_`, 63 at most. Set it with `?schema=`.")
    url = parts._replace(query=urlencode(rest)).geturl()
    return Address(url, schema, redacted(text))


def redacted(text: str) -> str:
    """An address without what is secret in it; anything else as it is."""
    if not is_address(text):
        return text
    try:
        parts = urlsplit(text)
        asked = [(key, value) for key, value in parse_qsl(parts.query) if key.lower() not in _SECRET]
    except ValueError:
        return "postgresql://…"
    user, at, place = parts.netloc.rpartition("@")
    shown = parts._replace(netloc=user.partition(":")[0] + at + place, query=urlencode(asked, safe="/"), fragment="")
    return shown.geturl()


_HOW = "Give the store as `postgresql://user@host:5432/database`, with `?schema=` for a schema of its own."
