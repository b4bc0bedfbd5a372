"""The address of a record in PostgreSQL, and how any address is shown.

Owns: that a password is in no error, log or list of settings.
"""

from typing import NamedTuple

from keepwhole.errors import ConfigError
from keepwhole.store.blobs.bucket_address import is_bucket
from keepwhole.store.blobs.bucket_address import redacted as redacted_bucket

SCHEMES = ("postgresql://", "postgres://")
_SCHEMA = r"[a-z_][a-z0-9_]{0,62}"
_SEARCH_PATH = r"search_path=([^\s,]+)"
_SECRET = ("password", "sslpassword", "passfile", "sslkey")


class Address(NamedTuple):
    """The address of a record: the URL for the driver, the schema, and the address without its secrets."""

    url: str
    schema: str
    shown: str


class Hidden(str):
    """An address whose `repr`, which tracebacks and logs print, has no secret in it."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the address without its secrets."""
        return repr(redacted(self))


def is_address(text: str) -> bool:
    """Return whether this is the address of a record in PostgreSQL rather than a folder."""
    return text.startswith(SCHEMES)


def address_of(text: str) -> Address:
    """Parse an address. The schema is `?schema=`, else the search path in its options, else `keepwhole`."""
    import re  # settings are read at every start, and few have an address
    from urllib.parse import parse_qsl, quote, urlencode, urlsplit

    try:
        parts = urlsplit(text)
        asked = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        raise ConfigError(_HOW) from None
    if "@" in parts.path or parts.netloc.count("@") > 1 or parts.fragment:
        raise ConfigError(_HOW)  # a password in parts, which an error would show as a host or a database
    options = re.search(_SEARCH_PATH, asked.get("options", ""))
    schema = asked.pop("schema", None) or (options.group(1) if options else "keepwhole")
    if re.fullmatch(_SCHEMA, schema) is None:
        raise ConfigError("A schema's name has lowercase letters, digits and `_`, 63 at most. Set it with `?schema=`.")
    return Address(parts._replace(query=urlencode(asked, quote_via=quote)).geturl(), schema, redacted(text))


def redacted(text: str) -> str:
    """Return an address without its secrets, or a placeholder if they cannot be told apart from the rest."""
    if is_bucket(text):
        return redacted_bucket(text)
    if not is_address(text):  # a folder, or an address of another package, which may have a secret anywhere
        scheme, has_scheme, _ = text.partition("://")
        return f"{scheme}://…" if has_scheme else text
    from urllib.parse import parse_qsl, urlencode, urlsplit

    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - no number where a password may stand
        asked = [(key, value) for key, value in parse_qsl(parts.query) if key.lower() not in _SECRET]
    except ValueError:
        return _HIDDEN
    user, at, place = parts.netloc.rpartition("@")
    if "@" in parts.path + parts.query + parts.fragment + user:
        return _HIDDEN
    return parts._replace(netloc=user.partition(":")[0] + at + place, query=urlencode(asked, safe="/")).geturl()


_HIDDEN = "postgresql://…"
_HOW = (
    "The store cannot be read as an address. Give `postgresql://user:password@host:5432/database`, with `?schema=` for "
    "a schema of its own, and percent-encode special characters in the password: `@` is `%40`, `/` is `%2F`."
)
