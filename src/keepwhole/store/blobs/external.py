"""The place that the setting `blobs` names: a bucket, or a folder that every machine sees."""

import importlib.util
import os
from collections.abc import Callable

from keepwhole.errors import StoreRefused
from keepwhole.install import install_hint
from keepwhole.store.blobs.bucket_address import bucket_of, is_bucket
from keepwhole.store.blobs.folder import BlobFolder
from keepwhole.store.blobs.stores import Outside


def opener(
    blobs: str, record: Callable[[], str], folder: str, patience: float | None = None
) -> Callable[[], Outside] | None:
    """What opens the place of the record with this id, on first use; nothing where none is named.

    `folder` is for what is on its way.
    """
    if not blobs:
        return None
    if not is_bucket(blobs):
        return lambda: BlobFolder(os.path.join(blobs, record()))
    bucket = bucket_of(blobs)
    if importlib.util.find_spec("obstore") is None:
        raise StoreRefused(f"Bodies in a bucket need `obstore`. Install it with {install_hint('s3')}.")

    def in_bucket() -> Outside:
        from keepwhole.store.blobs.s3 import Objects  # takes a while, and few commands need it

        return Objects(bucket, record(), folder, patience)

    return in_bucket
