"""`keepwhole replay`: what policies would have done to recorded runs. Nothing is sent or changed."""

import argparse
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from keepwhole import config
from keepwhole.apps.cli import replay_screen, screen, tune
from keepwhole.apps.cli.command_context import add_config, add_count, add_json
from keepwhole.apps.cli.main import EXIT_INTERRUPTED
from keepwhole.apps.cli.replay_input import contender, logs_to_replay
from keepwhole.errors import UsageError
from keepwhole.logs.lines import file_size
from keepwhole.models.profiles import Profile, input_price
from keepwhole.replay import prices
from keepwhole.replay.contenders import DEFAULT_CONTENDERS, Contender
from keepwhole.replay.cost import price_of
from keepwhole.replay.processes import cores, map_in_processes
from keepwhole.replay.replay_totals import ReplayTotals
from keepwhole.replay.report import Basis, ReplayReport, build_report
from keepwhole.replay.run_sample import sample_within
from keepwhole.replay.runner import FREQUENCY_CHARS, ReplayJob, read_frequencies, replay_all
from keepwhole.replay.survey import LoggedRun, LogTotals, SurveyItem, merge_survey, survey

_EARLY = 1.5
"""Seconds after which a person at a terminal sees first totals, however much is still unread."""
EXIT_NOTHING = 1


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help="logs, or folders of them (default: those of the clients on this machine)",
    )
    parser.add_argument("--policy", nargs="+", action="extend", metavar="NAME|FILE", help="policies, or settings files")
    parser.add_argument("--provider", metavar="NAME", help="the provider or model whose prices apply")
    parser.add_argument("--window", metavar="N", help="the size of the context window in tokens, such as 128k")
    parser.add_argument("--report", metavar="FILE", help="write a page with charts, all in one HTML file")
    parser.add_argument("--missed", action="store_true", help="list what was hidden but used later")
    parser.add_argument("--all", action="store_true", help="replay every run, not a random sample")
    parser.add_argument("--sample", action="store_true", help="replay made-up sessions")
    parser.add_argument(
        "--tune", metavar="FILE", help="fit the weights of `auto` to these logs, and write them to this file"
    )
    add_count(parser, "--jobs", "the number of processes (default: one for each processor)")
    add_config(parser)
    add_json(parser)
    parser.set_defaults(act=replay)


def replay(args: argparse.Namespace) -> int:
    """Read logs, replay policies on them, and print the result."""
    settings = config.load(args.config)
    once = dict.fromkeys(("everything", *(args.policy or DEFAULT_CONTENDERS)))
    contenders = [*map(contender, once)]
    window = None if args.window is None else prices.parse_tokens(args.window)
    for written in filter(None, (args.report, args.tune)):
        _refuse_unwritable(Path(written))
    if args.tune:
        tune.check_target(Path(args.tune))
    profile = prices.profile_named(args.provider, settings.models) if args.provider else None
    with logs_to_replay(args) as paths:
        if paths is None:
            return 0
        if not paths:
            return EXIT_NOTHING
        return _Replay(args, contenders, settings).of(paths, profile, window)


class _Replay:
    """One replay and its results so far, so that it can be stopped at any time."""

    def __init__(self, args: argparse.Namespace, contenders: Sequence[Contender], settings: config.Settings) -> None:
        self._args, self._settings = args, settings
        self._jobs = args.jobs or cores()
        self._totals, self._runs = LogTotals(), list[LoggedRun]()
        self._found: list[SurveyItem] = []
        self._gathered = ReplayTotals(contenders)
        self._has_printed = False
        """Whether totals were printed."""

    def of(self, paths: Sequence[Path], profile: Profile | None, window: int | None) -> int:
        """Read, replay, print; Ctrl-C prints the results so far."""
        try:
            self._read(paths)
            basis, profile = self._basis(profile, window)
            if self._args.tune:
                return self._tune(profile)
            self._replay(profile)
            stopped = False
        except KeyboardInterrupt:
            basis, _ = self._basis(profile, window)
            stopped = True
            screen.warn("Stopped. This is known so far:")
        self._print(basis)
        return EXIT_INTERRUPTED if stopped else 0 if self._runs else EXIT_NOTHING

    def _basis(self, profile: Profile | None, window: int | None) -> tuple[Basis, Profile]:
        """Prices and window: those asked for, else those of the model with the most recorded tokens."""
        name, recorded = prices.recorded_profile(self._totals, self._settings.models)
        name, profile = self._args.provider or name, profile or recorded
        profile = profile.replace(window=window or profile.window)
        return Basis(name, price_of(profile, input_price(name)), profile.window), profile

    def _read(self, paths: Sequence[Path]) -> None:
        """Read all logs: the first pass."""
        sizes = {path: file_size(path) for path in paths}
        largest_first = sorted(paths, key=lambda path: -sizes[path])
        began, told = time.monotonic(), self._args.json or not sys.stdout.isatty()
        with screen.Progress("reading", sum(sizes.values()), in_bytes=True) as progress:
            for found in map_in_processes(survey, largest_first, self._jobs):
                self._found.append(found)
                self._totals.add(found)
                progress.set_done(max(self._totals.bytes, self._totals.chars))
                if not told and time.monotonic() - began > _EARLY:
                    told = True
                    progress.clear()
                    replay_screen.print_first_totals(self._totals)
        self._runs, self._totals = merge_survey(self._found)
        self._say_totals()

    def _say_totals(self) -> None:
        if not self._args.json and not self._has_printed:
            self._has_printed = True
            replay_screen.print_totals(self._totals)

    def _replay(self, profile: Profile) -> None:
        """Replay a sample of the runs: the second pass."""
        drawn = self._runs if self._args.all else sample_within(self._runs)
        with screen.Progress("replaying runs", len(drawn)) as progress:
            progress.set_done(0)
            frequencies = read_frequencies(self._runs, self._jobs, FREQUENCY_CHARS)
            work = ReplayJob(drawn, frequencies, profile=profile, window=profile.window)
            for pairs in replay_all(work, self._gathered.contenders[1:], self._jobs):
                if pairs:
                    self._gathered.add(pairs)
                progress.step()

    def _tune(self, profile: Profile) -> int:
        frequencies = read_frequencies(self._runs, self._jobs, FREQUENCY_CHARS)
        job = ReplayJob(self._runs, frequencies, profile=profile, window=profile.window)
        return tune.tune(job, self._settings.auto, Path(self._args.tune), self._jobs, self._args.json)

    def _print(self, basis: Basis) -> None:
        self._say_totals()
        made = build_report(self._totals, self._gathered, basis)
        made = made.replace(made_at=_now(), command=_command_line(self._args.words))
        if self._args.json:
            screen.print_json(made.as_json())
        elif made.policies:
            replay_screen.print_policies(made)
            replay_screen.print_hidden(made, self._args.missed)
            replay_screen.print_settings(made)
            screen.say("" if self._args.report else "\nWith charts: add `--report out.html`.")
        if self._args.report:
            _write_page(self._args.report, made)


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M %z", time.localtime(time.time()))


def _command_line(words: list[str]) -> str:
    """The command as it was given, for the footer of a report."""
    return shlex.join(["keepwhole", *words])


def _refuse_unwritable(path: Path) -> None:
    """Raise an error for an unwritable output file before minutes of work, not after."""
    why = "it is a folder" if path.is_dir() else "there is no such folder" if not path.parent.is_dir() else ""
    if why or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(
            f"`{path}` cannot be written ({why or 'Permission denied'}). Name a file in a folder that you may write to."
        )


def _write_page(path: str, made: ReplayReport) -> None:
    from keepwhole.replay.page import page

    try:
        Path(path).write_text(page(made.as_json()), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written ({error.strerror}). Name another file.") from error
    screen.warn(f"The page is `{path}`.")
