"""Asking an object store: a client with bounded patience, and trouble in words of ours.

Owns: that no key is in an error. What a client or a server says may name one, so it is not passed on.
Must not know: what is asked.
"""

import os
import re
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from keepwhole.store.blobs.bucket_address import Bucket

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config

_T = TypeVar("_T")


class Trouble(Exception):
    """What the object store said, without what is secret in it."""


class Exists(Trouble):
    """There is an object of that name already."""


class Absent(Trouble):
    """There is no such object."""


class Beyond(Trouble):
    """The object ends before what was asked for."""


def client(bucket: Bucket, record: str, patience: float, retries: int) -> S3Store:
    """A client for the objects of one record, which tries again for so many seconds."""
    wait = timedelta(seconds=patience)
    options: ClientConfig = {
        "allow_http": bucket.options.get("endpoint", "").startswith("http://"),
        "connect_timeout": min(wait, timedelta(seconds=5)),
        "timeout": 2 * wait,
    }
    pause = timedelta(milliseconds=50)
    retry: RetryConfig = {
        "max_retries": retries,
        "retry_timeout": wait,
        "backoff": {"init_backoff": pause, "max_backoff": timedelta(seconds=2)},
    }
    given: Any = bucket.options
    config: S3Config = given
    prefix = f"{bucket.prefix}/{record}".lstrip("/")
    return S3Store(bucket.name, prefix=prefix, config=config, client_options=options, retry_config=retry)


def asked(work: Callable[[], _T]) -> _T:
    """What `work` gives; else `Trouble`, which does not carry along what it stands for."""
    _refuse_forked()
    try:
        return work()
    except AlreadyExistsError:
        trouble = Exists("it is there already")
    except FileNotFoundError:
        trouble = Absent("it is not there")
    except (BaseError, OSError, ValueError) as error:
        words = said(str(error))
        trouble = Beyond(words) if words.startswith("416") else Trouble(words)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        trouble = Trouble("its client gave up")
    raise trouble


_used_by: list[int] = []


def _refuse_forked() -> None:
    """The client's threads are not in a forked child, and it would wait for them for ever."""
    pid = os.getpid()
    if not _used_by:
        _used_by.append(pid)
    elif _used_by[0] != pid:
        raise Trouble("this process was forked from one that uses it; start it with `spawn` or `forkserver`")


_NO_KEYS = "169.254.169.254"
"""Where a client asks for the keys of a machine's role, when it has found none elsewhere."""
_WORDS = (
    ("dns error", "its name is not known"),
    ("timed out", "it did not answer in time"),
    ("Timeout", "it did not answer in time"),
    ("kind: Connect", "it cannot be reached"),
    ("error sending request", "the connection was lost"),
)


def said(text: str) -> str:
    """What went wrong, in a few words: a code, a status or one of ours."""
    if _NO_KEYS in text:
        return "no keys were found; set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`"
    code, status = re.search(r"<Code>(\w{1,60})</Code>", text), re.search(r"status code: (\d{3}[ \w]{0,30})", text)
    if code or status:
        return ", ".join(found.group(1) for found in (status, code) if found)
    return next((words for sign, words in _WORDS if sign in text), "it gave an answer that its client does not know")
