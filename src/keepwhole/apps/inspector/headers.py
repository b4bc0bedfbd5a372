"""The security headers of every answer: the browser runs only the page's own files, embeds nothing, keeps nothing.

Owns: the headers.
Must not know: what an answer contains.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

_PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
ALWAYS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": _PAGE,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Server": "keepwhole",
    }
)
SANDBOX = "sandbox; default-src 'none'"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def attachment(name: str) -> dict[str, str]:
    """The headers of a tool's bytes: the browser saves them and never displays them."""
    plain = _UNSAFE.sub("_", name)[:120]
    return {
        "Content-Security-Policy": SANDBOX,
        "Content-Disposition": f'attachment; filename="{plain}"',
        "Content-Type": "application/octet-stream",
        "Accept-Ranges": "bytes",
    }


def image(media_type: str) -> dict[str, str]:
    """The headers of an image that the page displays: opened by itself, it runs nothing and is nothing else."""
    return {"Content-Security-Policy": SANDBOX, "Content-Disposition": "inline", "Content-Type": media_type}
