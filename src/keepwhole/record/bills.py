"""What a session's requests are expected to cost, and what is learned from what they did cost.

Owns: forecasts by model, how far estimates are off, and whether forecasts hold. What other processes sent, and this one
before it was started again, is learned from the record: all bills, and what the newest requests left in the cache.
Requests are paired with their responses, in order, by `BillLog`.
Must not know: how requests are sent, what a policy does with it.
"""

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import NamedTuple

from keepwhole import events
from keepwhole.canonical.entry import HIDDEN_ROUND, Header, Request, Response
from keepwhole.models.forecast import CacheHit, Forecast, Prompt
from keepwhole.models.profiles import HOUR, Profile
from keepwhole.wire.dialect import Dialect
from keepwhole.wire.dialects import conversation_dialect
from keepwhole.wire.identity import continues
from keepwhole.wire.prompt import Prompts
from keepwhole.wire.request_body import RequestBody, read_request
from keepwhole.wire.usage import Usage

_UNANSWERED = 64
"""Most requests that wait for their response; the oldest are forgotten."""


class BilledRequest(NamedTuple):
    """A request that was answered."""

    seq: int
    request: Request
    response: Response

    @property
    def sent_at(self) -> float:
        """When it was sent, in seconds."""
        return sent_at(self.request, self.response)

    @property
    def answered_at(self) -> float:
        """When its answer began, in seconds; from then on the provider's cache holds its prompt."""
        return self.sent_at + (self.response.first_ms or 0) / 1000

    @property
    def estimated_tokens(self) -> int:
        """Tokens as the view estimated them; 0 where the bill says nothing about the whole request."""
        return round(self.request.tokens_sent / self.request.scale) if self.request.scale > 0 else 0


class BillLog:
    """Billed requests that were not taken yet."""

    def __init__(self) -> None:
        self._unanswered: dict[str, tuple[int, Request]] = {}
        self._billed: list[BilledRequest] = []
        self.last_sent: dict[str, float] = {}
        """When each branch was last sent, in seconds."""
        self.offered: set[str] = set()
        """The branches that were offered the recall tools."""

    def learn(self, seq: int, header: Header) -> None:
        """Add a request or a response."""
        if isinstance(header, Request):
            self._unanswered[header.trace_id] = seq, header
            if len(self._unanswered) > _UNANSWERED:
                del self._unanswered[next(iter(self._unanswered))]
            self._note_sent(header, None)
        elif isinstance(header, Response) and (asked := self._unanswered.pop(header.trace_id, None)):
            self._billed.append(BilledRequest(asked[0], asked[1], header))
            self._note_sent(asked[1], header)

    def take(self) -> list[BilledRequest]:
        """Hand out the billed requests, each once."""
        billed, self._billed = self._billed, []
        return billed

    def newest(self, most: int) -> list[tuple[str, int, int]]:
        """Return the newest bills about whole requests that were not taken yet: the model, the estimated tokens, the
        billed ones."""
        told = [
            (one.request.model, one.estimated_tokens, one.response.input or 0)
            for one in self._billed
            if one.response.status == 200
        ]
        return [bill for bill in told if bill[1] and bill[2]][-most:]

    def _note_sent(self, request: Request, response: Response | None) -> None:
        if request.recall == "tools":
            self.offered.add(request.branch)
        if request.purpose in ("turn", HIDDEN_ROUND) or request.branch not in self.last_sent:
            self.last_sent[request.branch] = sent_at(request, response)


def sent_at(request: Request, response: Response | None) -> float:
    """When a request was sent, in seconds; its entry is written when it is answered."""
    if response is None:
        return request.at / 1000
    took = (response.total_ms or 0) - (response.queue_ms or 0) - (response.own_ms or 0)
    return (request.at - took) / 1000


_JUDGED = 5
"""Requests after which forecasts are judged: to fail, and in a row to hold again."""
_LEAST_SCALE, _MOST_SCALE = 0.6, 3.0
"""Tokens billed for an estimated one: no tokenizer takes fewer, so such a bill is not about the whole request; a bill
for more is taken for this, since too little room is worse than too much."""
_LEAST = 500
"""Estimated tokens below which a request is mostly what a provider adds to it."""
_SPREAD = 1.2
"""How far bills may lie apart that are believed when they say that there is more room than was thought."""


_LARGEST_REMEMBERED = 1024 * 1024
"""Bytes of a request above which it is read from its beginning rather than held."""
_MODELS = 16
"""Models of which something is remembered."""
_LOOKED_AT = 8
"""The newest requests of others whose bytes are looked at, for what they left in the cache."""


class Expected(NamedTuple):
    """What a request is expected to be billed."""

    input: int
    """Tokens in all."""
    cached: int
    """Tokens of these from the cache."""
    cold: bool
    """Whether the cache has surely forgotten what was sent before."""
    estimated: int
    """Tokens in all as the view estimates them, not corrected; 0 where it does not."""
    model: str
    profile: Profile
    at: float
    prompt: Prompt
    hit: CacheHit


class _Model:
    """What is known of one model."""

    def __init__(self) -> None:
        self.forecast = Forecast()
        self.scale = 1.0
        """Tokens billed for one that a view estimates."""
        self._ratios: deque[float] = deque(maxlen=_JUDGED)

    def correct(self, estimated: int, billed: int) -> None:
        """Take in a bill. What it says in favor of less room holds at once, of more only when others say the same."""
        if estimated < _LEAST:
            return
        ratio = billed / estimated
        self._ratios.append(min(ratio, _MOST_SCALE))
        if ratio < _LEAST_SCALE:
            self._ratios.clear()
        mean = sum(self._ratios) / max(1, len(self._ratios))
        is_sure = len(self._ratios) == _JUDGED and max(self._ratios) <= _SPREAD * min(self._ratios)
        self.scale = mean if mean > 1 or is_sure else 1.0

    @property
    def doubt(self) -> float:
        """Share of the margin of estimates that stays: less with each bill like the newest, all after one unlike it."""
        newest = self._ratios[-1] if self._ratios else 0.0
        alike = takewhile(lambda ratio: newest <= _SPREAD * ratio and ratio <= _SPREAD * newest, reversed(self._ratios))
        return 1 / (1 + len(list(alike)))


class Billing:
    """The bills of one session. Safe from threads."""

    def __init__(
        self,
        session: str,
        now: Callable[[], float],
        profile: Callable[[str | None], Profile],
        past: Callable[[], BillLog] = BillLog,
        bodies: Callable[[], Callable[[int], bytes | None]] = lambda: _no_request,
    ) -> None:
        """`past` gives what was read of the record, `bodies` what gives a request on record by its number."""
        self.now = now
        self._past, self._bodies = past, bodies
        self.profile = profile
        """What is known of a model by its name, as the settings have it."""
        self.predicted = 0
        """Tokens from the cache that were expected, of all requests that were billed."""
        self.billed = 0
        """Tokens from the cache that providers said they served for these."""
        self.requests = 0
        """Requests that these were."""
        self.shortfall = 0
        """Tokens that the cache should have served and did not, of all requests that were billed."""
        self.has_no_cache = False
        """Whether forecasts have failed since nothing at all was served from a cache."""
        self.frozen = False
        """Whether nothing ages by itself, since forecasts fail."""
        self.reason = ""
        """Why so, for people."""
        self._session = session
        self._lock = threading.Lock()
        self._prompts = Prompts()
        self._latest: RequestBody | None = None
        self._models: OrderedDict[str, _Model] = OrderedDict()
        self._answered_by: dict[str, str] = {}
        """The model that a provider said it used, by the name that requests have for it."""
        self._own: Counter[str] = Counter()
        """Digests of requests that were learned from before they were on record."""
        self._unread: deque[BilledRequest] = deque(maxlen=_LOOKED_AT)
        """Requests of others that the forecasts do not know of yet."""
        self._judged: deque[tuple[int, int]] = deque(maxlen=_JUDGED)
        """Expected and billed of the newest requests of which something was expected."""
        self._held = 0
        """Requests in a row whose forecast held."""

    def expect(
        self, dialect: Dialect, request: RequestBody, model: str, now: float, estimated: int = 0
    ) -> Expected | None:
        """What a request, as it is sent, will be billed; None where the provider has a part of it."""
        if continues(request):
            return None
        profile = self.profile(model)
        with self._lock:
            forecast = self._model(model).forecast
            prompt = self._prompts.read(request, _is_explicit(dialect, profile))
            hit = forecast.hit(prompt, profile, now)
            total = forecast.tokens_at(prompt, len(prompt.digests) - 1)
        return Expected(total, hit.tokens, hit.cold, estimated, model, profile, now, prompt, hit)

    def read(self, body: bytes) -> RequestBody | None:
        """A request that is sent, read like the one before it."""
        with self._lock:
            latest = self._latest
        request = read_request(body, latest)
        with self._lock:
            self._latest = request.remembered() if request is not None and len(body) < _LARGEST_REMEMBERED else None
        return request

    def catch_up(self) -> None:
        """Take in what others were billed, as far as the record was read."""
        with self._lock:
            for billed in self._past().take():
                if self._own[billed.request.digest] > 0:
                    self._own[billed.request.digest] -= 1
                else:
                    self._take_in(billed)
            self._own = +self._own

    def _take_in(self, billed: BilledRequest) -> None:
        request, response = billed.request, billed.response
        if response.status != 200 or request.scale <= 0:
            return
        self._unread.append(billed)
        self._note_model(request.model, response.answered_by)
        if response.input is not None:
            self._model(request.model).correct(billed.estimated_tokens, response.input)
        if response.cached is not None:
            self.requests += 1
            self.predicted += request.predicted or 0
            self.billed += response.cached
            self._judge(request.predicted or 0, response.cached, self.profile(request.model), is_told=False)

    def learn_scale(self, bills: Iterable[tuple[str, int, int]]) -> None:
        """Learn how far estimates are off from bills of another session: the model, estimated tokens, billed ones."""
        with self._lock:
            for model, estimated, billed in bills:
                self._model(model).correct(estimated, billed)

    def remember(self, before: float) -> None:
        """Look at the newest requests of others whose answers had begun by then: what they left in the cache."""
        self.catch_up()
        with self._lock:
            wanted = [billed for billed in self._unread if billed.answered_at < before]
            self._unread = deque((one for one in self._unread if one not in wanted), maxlen=_LOOKED_AT)
        if wanted:
            read = self._bodies()
            for billed in wanted:
                self._look_at(billed, read(billed.seq))

    def remember_first(self, model: str | None) -> None:
        """Look at them where this process has sent nothing to a model: how a client has its requests cached is known
        from these alone."""
        known = self._models.get(model or "")
        if self._unread and (known is None or not known.forecast.is_begun):
            self.remember(self.now())

    def _look_at(self, billed: BilledRequest, body: bytes | None) -> None:
        request = read_request(body) if body is not None else None
        if request is None:
            return
        asked, told = billed.request, billed.response
        profile = self.profile(asked.model)
        expected = self.expect(conversation_dialect(asked.dialect), request, asked.model, billed.sent_at)
        if expected is not None:
            figures = (told.input or 0, told.cached or 0, told.written or 0) if told.cached is not None else None
            with self._lock:
                self._model(expected.model).forecast.learn(
                    expected.prompt, profile, expected.at, expected.hit, figures if told.input else None
                )

    def learn(self, expected: Expected, usage: Usage | None, digest: str = "") -> None:
        """Take in that a request was answered, and what it was billed where that is said; by its `digest` it is known
        when it is read on record."""
        is_plain = is_about_all(usage)
        billed = usage if is_plain and usage is not None and usage.says_cached else None
        told = None if billed is None else (billed.input, billed.cached, billed.written)
        with self._lock:
            self._own[digest] += bool(digest)
            self._note_model(expected.model, usage.model if usage is not None else None)
            model = self._model(expected.model)
            model.forecast.learn(expected.prompt, expected.profile, expected.at, expected.hit, told)
            if is_plain and usage is not None:
                model.correct(expected.estimated, usage.input)
            if billed is not None:
                self.requests += 1
                self.predicted += expected.cached
                self.billed += billed.cached
                if not expected.cold:
                    self._judge(expected.cached, billed.cached, expected.profile)

    def scale(self, model: str | None) -> float:
        """Tokens billed for one that a view estimates."""
        with self._lock:
            known = self._models.get(model or "")
        return 1.0 if known is None else known.scale

    def doubt(self, model: str | None) -> float:
        """Share of the margin of estimates that bills have not proved needless."""
        with self._lock:
            known = self._models.get(model or "")
            return 1.0 if known is None else known.doubt

    def wants_hour(self, model: str | None) -> bool:
        """Whether the client's last request wants entries of the cache to live for an hour."""
        with self._lock:
            known = self._models.get(model or "")
            return known is not None and known.forecast.requested_lifetime >= HOUR

    def as_cached(self, profile: Profile, model: str | None) -> Profile:
        """A profile with the prices that the client pays on average, by where it sets its breakpoints: what is behind
        the last of them is never cached."""
        with self._lock:
            known = self._models.get(model or "")
            share = 1.0 if known is None else known.forecast.cached_share
        if share == 1.0:
            return profile
        return profile.replace(read=share * profile.read + 1 - share, write=share * profile.write + 1 - share)

    def lifetime(self, model: str | None, profile: Profile) -> float:
        """Seconds after which a cache has surely forgotten what was sent last."""
        with self._lock:
            known = self._models.get(model or "")
            return profile.lifetime if known is None else known.forecast.lifetime(profile)

    def answered_by(self, model: str | None) -> str | None:
        """The model that the provider last said it used for requests with this name; None where it said the same."""
        return self._answered_by.get(model or "")

    def _note_model(self, asked: str, answered_by: str | None) -> None:
        if answered_by and answered_by != asked and (asked in self._answered_by or len(self._answered_by) < _MODELS):
            self._answered_by[asked] = answered_by

    def _model(self, name: str) -> _Model:
        model = self._models.setdefault(name, _Model())
        self._models.move_to_end(name)
        if len(self._models) > _MODELS:
            self._models.popitem(last=False)
        return model

    def _judge(self, expected: int, cached: int, profile: Profile, is_told: bool = True) -> None:
        """Stop aging when forecasts fail, resume when they are right again; with `is_told`, report it."""
        if expected < max(1, profile.minimum):
            return
        self.shortfall += max(0, expected - cached)
        self._judged.append((expected, cached))
        self._held = self._held + 1 if 2 * cached >= expected else 0
        predicted, billed = (sum(figures) for figures in zip(*self._judged, strict=True))
        if self.frozen and self._held >= _JUDGED:
            self.frozen, self.reason = False, ""
            if is_told:
                events.log_aging_resumed(self._session, self._held)
        elif not self.frozen and len(self._judged) == _JUDGED and 2 * billed < predicted:
            self.frozen, self._held = True, 0
            self.has_no_cache = self.has_no_cache or not billed
            self.reason = (
                f"Of {predicted:,} tokens that the cache should have served in the last {_JUDGED} requests it served "
                f"{billed:,}, so nothing ages by itself until forecasts are right again."
            )
            if is_told:
                events.log_aging_stopped(self._session, _JUDGED, predicted, billed)


def is_about_all(usage: Usage | None) -> bool:
    """Whether a bill is about the request as it was sent, once and unchanged."""
    return usage is not None and usage.hops == 1 and not usage.applied


def _no_request(_: int) -> None:
    """Nothing is on record."""


def _is_explicit(dialect: Dialect, profile: Profile) -> bool:
    """Whether a provider caches at breakpoints alone; a gateway has Claude do so in another dialect too."""
    return profile.breakpoints > 0 and (dialect.caches_at_breakpoints or profile.name.startswith("claude"))
