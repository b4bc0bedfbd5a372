"""The address of a bucket, and how it is shown.

Owns: that a key is in no error, log or list of settings.
"""

from typing import NamedTuple

from keepwhole.canonical.lazy_pattern import lazy_pattern
from keepwhole.errors import ConfigError

SCHEME = "s3://"
_SECRET = ("access_key_id", "secret_access_key", "session_token")
_KNOWN = ("endpoint", "region", *_SECRET)
_BUCKET = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}")
_PREFIX = lazy_pattern(r"[A-Za-z0-9._/=-]*")
_ENDPOINT = lazy_pattern(r"https?://[A-Za-z0-9.\[\]:-]+(/[A-Za-z0-9._/-]*)?")


class Bucket(NamedTuple):
    """The address of a bucket: its name, the prefix of all objects, the options of the client, and how it is shown."""

    name: str
    prefix: str
    options: dict[str, str]
    shown: str

    def __repr__(self) -> str:
        """Return the address without its keys."""
        return f"Bucket({self.shown!r})"


def is_bucket(text: str) -> bool:
    """Return whether this is the address of a bucket rather than a folder."""
    return text.startswith(SCHEME)


def bucket_of(text: str) -> Bucket:
    """Parse an address. An error does not quote it, since a key may be in it."""
    from urllib.parse import parse_qsl, urlsplit

    try:
        parts = urlsplit(text)
        asked = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        raise ConfigError(_HOW) from None
    prefix = parts.path.strip("/")
    good = _BUCKET.fullmatch(parts.netloc) and _PREFIX.fullmatch(prefix) and not parts.fragment
    if not good or ".." in prefix.split("/") or not set(asked) <= set(_KNOWN):
        raise ConfigError(_HOW)
    if "endpoint" in asked and _ENDPOINT.fullmatch(asked["endpoint"]) is None:
        raise ConfigError(
            "The `endpoint` in `blobs` is not the address of a server. Give `?endpoint=https://host:port`."
        )
    return Bucket(parts.netloc, prefix, asked, redacted(text))


def redacted(text: str) -> str:
    """Return an address without its keys, or a placeholder if they cannot be told apart from the rest."""
    from urllib.parse import parse_qsl, urlencode, urlsplit

    try:
        parts = urlsplit(text)
        asked = [(key, value) for key, value in parse_qsl(parts.query) if key.lower() in ("endpoint", "region")]
    except ValueError:
        return _HIDDEN
    if "@" in text or parts.fragment or ":" in parts.netloc:
        return _HIDDEN
    return parts._replace(query=urlencode(asked, safe="/:")).geturl()


_HIDDEN = "s3://…"
_HOW = (
    "`blobs` cannot be read as an address. Give `s3://bucket/prefix`, with `?endpoint=https://host&region=name` where "
    "the store is not Amazon's; keys belong in `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`. For a folder, give its "
    "whole path."
)
