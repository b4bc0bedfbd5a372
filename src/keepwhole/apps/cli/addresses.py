"""Opens records by address, for commands that work on a record other than the one in the settings."""

import os

from keepwhole.config import Settings
from keepwhole.errors import NotFound, UsageError
from keepwhole.store.blobs.bucket_address import is_bucket
from keepwhole.store.factory import check_folder, is_address, open_store
from keepwhole.store.postgres.address import redacted
from keepwhole.store.protocol import Store

HELP = "the folder of a record, or postgresql://…"


def open_record_at(address: str, settings: Settings, blobs: str | None = None) -> Store:
    """The record at an address; a folder is made where it is missing.

    Large bodies are in `blobs`; without it, in the `blobs` of the settings if this is the record that they name.
    """
    if not is_address(address):
        check_folder(address)
    if blobs and not is_bucket(blobs) and "://" in blobs:
        raise UsageError(f"`{blobs}` cannot hold large bodies. Give `s3://bucket/prefix`, or the path of a folder.")
    own = settings.store or settings.home
    folder = settings.home if is_address(address) else os.path.expanduser(address)
    place = address if is_address(address) else folder
    if blobs is None:
        blobs = settings.blobs if place == own else ""
    return open_store(address if is_address(address) else "", folder, inline_body=settings.inline_body, blobs=blobs)


def open_existing_record(address: str, settings: Settings, blobs: str | None = None) -> Store:
    """The record at an address; `NotFound` where it does not exist."""
    if not is_address(address):
        check_folder(address)
    if not is_address(address) and not os.path.isfile(os.path.join(os.path.expanduser(address), "record.db")):
        raise NotFound(f"There is no record in `{address}`: give the folder that `record.db` is in.")
    return open_record_at(address, settings, blobs)


def printable_address(address: str) -> str:
    """The address without its secrets."""
    return redacted(address)
