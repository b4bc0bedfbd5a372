"""The pipeline: what is sent of a conversation. Read this file first.

    messages ──follow──▶ results ──arrive──▶ ──age──▶ decisions, on record ──compact──▶ ──edit──▶ messages
               known ones are     new ones    old ones           a summary when      only where
               recognized         are capped  in rare batches    the window is full  a decision says so

Everything that is shown otherwise than it came is on record before a message is edited. Where another process records
a decision meanwhile, arriving and aging are planned again from what is on record then.

Owns: the order of the steps. Must not know: how a step works. Follow and edit are in `branch`, arrive and age in
`plan` and the policies, compact in `summary`; which branch is meant is in `conversations`.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from keepwhole.conversation.branch import Branch
from keepwhole.conversation.client_compaction import begin_costs, record_compaction
from keepwhole.conversation.context import ViewMode
from keepwhole.conversation.plan import Plan, may_wait, plan_arrivals, plan_batch, without_hiding, without_repeats
from keepwhole.conversation.scaled_images import plan_scaled
from keepwhole.errors import Overtaken
from keepwhole.policies.policy import Choice, Policy, Situation
from keepwhole.store.wait_guard import check_may_wait
from keepwhole.wire import dialects
from keepwhole.wire.request_body import RequestBody, read_request

_MANY = 64
"""Messages that are new to a branch, from which on following them takes long."""
_TRIES = 4
"""How often a plan is made again because another process was first; then only what depends on no other result."""


class View(NamedTuple):
    """One view that is asked for."""

    messages: list[Any]
    policy: Policy
    mode: ViewMode
    request: RequestBody | None = None
    """The request that the messages are in, where they came as bytes."""
    model: str | None = None
    continues: bool = False
    """Whether the request continues one that the provider has."""
    shortfall: int = 0
    """Tokens that the provider's cache should have served in earlier requests of the session, and did not."""


def run_pipeline(branch: Branch, view: View, shared: int, situation: Situation, is_record_read: bool) -> None:
    """Bring a branch up to the messages of a view, of which it has the first `shared`, and decide how they are sent."""
    if len(view.messages) - shared > _MANY:
        check_may_wait()
    is_record_read = branch.follow(
        view.messages, shared, is_record_read=is_record_read, continues=view.continues, client=view.mode.client
    )
    summarized, summary = branch.summary.situation(situation), branch.summary.seq
    whole = situation.overhead - (0 if view.mode.tools_wait else view.mode.tools)
    begin_costs(branch, view.mode.branch, situation, whole)
    is_round, restores = view.mode.is_between_rounds, view.mode.restores
    costs = branch.costs.before(summarized, whole, branch.known, summary, is_between_rounds=is_round, restores=restores)
    branch.costs.charge(view.shortfall, situation, branch.context.max_loss)
    situation = situation._replace(costs=costs._replace(summarized=branch.summary.tokens_left(situation)))
    if is_record_read:  # else results may be on record already, so nothing is recorded or decided
        _arrive_and_age(branch, view, situation)
    branch.count_unstored()
    is_compacted = branch.mode == "on" and not view.mode.shows_whole and view.policy.name != "everything"
    if is_record_read and is_compacted:
        branch.compact(situation, client_compacts=view.mode.client_compacts)
    afforded = situation._replace(costs=None) if view.mode.is_whole else situation
    branch.restore(afforded, _answer_tokens(view.request) if view.mode.shows_whole else None)
    if view.mode.restores:
        branch.costs.note_compaction(costs, branch.restored)


def _arrive_and_age(branch: Branch, view: View, situation: Situation) -> None:
    """Plan how new results are shown and what ages, and record it: in one append, and only if nobody else was first."""
    if view.mode.find_original is not None:
        branch.take_originals(view.mode.find_original)
    for tries_left in range(_TRIES, -1, -1):
        fresh = branch.name_new_results()
        plan = _afforded(branch, view, situation, _plan(branch, view, situation, is_alone=not tries_left))
        if view.mode.may_settle and fresh and not any(plan) and branch.may_postpone:
            decisions, summarized = branch.decisions, branch.summary.with_margin
            if may_wait(branch.transcript, decisions, fresh, view.policy, situation, summarized):
                return branch.postpone(fresh)
        try:
            return branch.record(fresh, plan)
        except Overtaken:
            if not branch.read_on(fresh):
                return None
    return None


def _plan(branch: Branch, view: View, situation: Situation, is_alone: bool) -> Plan:
    transcript, decisions, policy, fresh = branch.transcript, branch.decisions, view.policy, branch.new_items
    near = situation._replace(margin=branch.summary.with_margin(situation).margin)
    unsent = branch.unsent_items
    arrivals = plan_arrivals(transcript, decisions, unsent, policy, near, branch.may_hide, is_alone=is_alone)
    largest = branch.context.max_edge
    arrivals |= plan_scaled(transcript, (item for item in unsent if item.number not in arrivals), largest)
    if is_alone or view.mode.shows_whole:
        return Plan(arrivals)
    if view.mode.is_between_rounds or (view.mode.may_settle and branch.is_planned_already()):
        situation = situation._replace(frozen=True)
    recorded_now = {item.number for item in (without_repeats(fresh) if branch.mode == "on" else fresh)}

    def may_age(choice: Choice) -> bool:
        return branch.is_recorded_or_in(choice.number, recorded_now) and branch.may_hide(choice)

    situated = partial(branch.summary.with_margin, situation)
    scaled = plan_scaled(transcript, branch.kept_before_items if largest else (), largest)
    batch = plan_batch(transcript, decisions, {**arrivals, **scaled}, policy, situated, may_age)
    return Plan(arrivals, [*scaled.values(), *batch])


def _afforded(branch: Branch, view: View, situation: Situation, plan: Plan) -> Plan:
    """The plan, or what hides nothing of it, where the tools to read it back are still to come and cost too much."""
    mode, costs = view.mode, situation.costs
    if not mode.tools_wait or costs is None or branch.summary.current is not None or branch.decisions.hides:
        return plan
    freed = plan.tokens_freed(branch.transcript.items)
    affords = costs.affords_tools(mode.tools, freed, branch.context.max_loss, is_served=not situation.frozen)
    return plan if affords else without_hiding(plan)


def end_compaction(branch: Branch, name: str) -> None:
    """Note that a request to compact, if the last view was for one, was answered."""
    record_compaction(branch, name)


def settle_all(branches: Iterable[Branch]) -> None:
    """Record what branches have sent before it was on record: nobody would know of it later."""
    for branch in branches:
        if branch.is_unsettled:
            check_may_wait()
            branch.settle()


def edit(branch: Branch, view: View) -> Any:
    """Return the messages or the request to send."""
    if view.request is None:
        return branch.edited_messages()
    return _edit_request(branch, view.request)


def _answer_tokens(request: RequestBody | None) -> int:
    """Most tokens of the answer; 0 where no request sets a limit."""
    fields = {} if request is None else request.fields
    limits = (fields.get(name) for name in dialects.TABLE.answer_limit_fields)
    return next((limit for limit in limits if isinstance(limit, int)), 0)


def _edit_request(branch: Branch, request: RequestBody) -> bytes:
    """The request's bytes, edited in place; where messages are rearranged, the list is written again."""
    data = request.splice(branch.edited_texts(arguments=True))
    if request.skipped:  # a message is edited in all its places or in none
        for index in {index for index, _ in request.skipped}:
            branch.leave_unedited(index)
        data = request.splice(branch.edited_texts(arguments=True))
    again = read_request(data) if branch.is_rearranged else None
    return data if again is None else again.joined(branch.rearranged_messages(again.messages))
