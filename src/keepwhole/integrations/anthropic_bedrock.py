"""Amazon Bedrock with `AnthropicBedrock`, which signs a request before its HTTP client has it.

What was edited is signed again with the caller's own credentials; a request that was signed with others is sent as it
came, since its signature would no longer fit.

Owns: signing again. The transport does everything else.
"""

import re
from importlib import import_module
from typing import Any

from keepwhole.exchange.router import SessionRouter
from keepwhole.install import install_hint
from keepwhole.integrations.clients import router_options
from keepwhole.integrations.transport import Transport, httpx2
from keepwhole.session import Session

_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, "
    r"SignedHeaders=(?P<names>[^,]+)"
)
_SIGNED_ANEW = ("authorization", "x-amz-date", "x-amz-security-token")


def http_client(
    session: Session | str | None = None,
    *,
    credentials: Any = None,
    transport: httpx2.BaseTransport | None = None,
    store: Any = None,
    agent: str | None = None,
    **options: Any,
) -> httpx2.Client:
    """A client for `AnthropicBedrock(http_client=…)`: what is edited is signed again with the caller's credentials.

    `credentials` are botocore's; without them they are found as boto3 finds them. Requests with an API key of Bedrock
    carry no signature and need none.
    """
    router = SessionRouter(session, **router_options(session, store, agent, None))
    signer = _Signer(transport or httpx2.HTTPTransport(), credentials)
    return httpx2.Client(transport=_SignedTransport(signer, router), **options)


class _SignedTransport(Transport):
    """Edits what can be signed again, and nothing else."""

    def __init__(self, signer: "_Signer", router: SessionRouter) -> None:
        super().__init__(signer, router)
        self._signer = signer

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; one that was signed with other credentials goes as it is."""
        if self._signer.can_sign(request):
            return super().handle_request(request)
        self.router.counts["untouched: signed by others"] += 1
        return self._signer.inner.handle_request(request)


class _Signer(httpx2.BaseTransport):
    """Signs every request that has a signature, since its body may be another one."""

    def __init__(self, inner: httpx2.BaseTransport, credentials: Any) -> None:
        self.inner = inner
        self._credentials = credentials

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sign a request again, and send it."""
        found = _SIGNED.match(request.headers.get("authorization", ""))
        if found is not None:
            self._sign(request, found)
        return self.inner.handle_request(request)

    def can_sign(self, request: httpx2.Request) -> bool:
        """Whether a request needs no signature, or was signed with the credentials at hand."""
        found = _SIGNED.match(request.headers.get("authorization", ""))
        if found is None:
            return True
        self._credentials = self._credentials or _found_credentials()
        return self._credentials is not None and self._credentials.access_key == found["key"]

    def close(self) -> None:
        """Close the connections."""
        self.inner.close()

    def _sign(self, request: httpx2.Request, found: re.Match[str]) -> None:
        auth, awsrequest = _imported("botocore.auth"), _imported("botocore.awsrequest")
        names = set(found["names"].split(";")) - set(_SIGNED_ANEW)
        headers = {name: value for name, value in request.headers.items() if name.lower() in names}
        signed = awsrequest.AWSRequest(
            method=request.method, url=str(request.url), data=request.read(), headers=headers
        )
        auth.SigV4Auth(self._credentials, found["service"], found["region"]).add_auth(signed)
        for name in _SIGNED_ANEW:
            request.headers.pop(name, None)
        request.headers.update({name: value for name, value in signed.headers.items() if name.lower() in _SIGNED_ANEW})


def _found_credentials() -> Any:
    """The credentials of boto3's own chain; None where it finds none."""
    return _imported("boto3").Session().get_credentials()


def _imported(name: str) -> Any:
    """A module of Amazon's, which has no types."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"Signing for Bedrock needs boto3. Install it with {install_hint('bedrock')}.") from error
