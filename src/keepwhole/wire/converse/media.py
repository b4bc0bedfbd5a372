"""Images, documents, audio and videos as Converse has them: a format in place of a media type, a name for a document.

Owns: how kept media are spelled. Must not know: where they go; how they are read (`wire.media`).
"""

import hashlib

from keepwhole.canonical.media import MediaBytes
from keepwhole.wire.fields import Json
from keepwhole.wire.media import encoded

_FORMATS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}
_BUCKET = "s3://"


def media_part(media: MediaBytes, call_id: str = "") -> Json:
    """The block of media; a text with their address where that is all there is, and no bucket.

    Two documents of a request may not have one name, so it has the call by which it is read back in it.
    """
    place = media.url or media.file_id
    if place is not None and not place.startswith(_BUCKET):
        return {"text": place}
    source = {"bytes": encoded(media.data)} if place is None else {"s3Location": {"uri": place}}
    if media.kind == "image":
        return {"image": {"format": _image_format(media.media_type, place), "source": source}}
    first, _, ending = media.media_type.partition("/")
    if media.kind == "audio" or first == "video":
        return {first: {"format": ending, "source": source}}
    name = f"kept-{hashlib.sha256(call_id.encode() + media.data).hexdigest()[:16]}"
    return {"document": {"format": _document_format(media.media_type, place), "name": name, "source": source}}


def media_type_of(kind: str, ending: str) -> str:
    """The media type of an image or a document by its format; empty where its bytes have to tell.

    >>> media_type_of("image", "png"), media_type_of("document", "csv")
    ('image/png', 'text/csv')
    """
    if kind == "image":
        return f"image/{ending}" if ending.isalnum() else "image/unknown"
    return next((name for name, own in _FORMATS.items() if own == ending), "")


def _image_format(media_type: str, place: str | None) -> str:
    ending = place.rpartition(".")[2].lower() if place else media_type.partition("/")[2]
    known = {"jpg": "jpeg"}.get(ending, ending)
    return known if known in ("png", "jpeg", "gif", "webp") else "png"


def _document_format(media_type: str, place: str | None) -> str:
    ending = place.rpartition(".")[2].lower() if place else _FORMATS.get(media_type, "")
    return ending if ending in _FORMATS.values() else "pdf"
