"""`holdfast replay`: what policies would have done to runs that people already have. Nothing is sent or changed."""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdfast import config
from holdfast.apps.cli import replay_screen, screen
from holdfast.errors import UsageError
from holdfast.projection.policies import policy_named
from holdfast.projection.profiles import Profile
from holdfast.replay import prices
from holdfast.replay.contenders import SHOWN, Contender, contender, same
from holdfast.replay.cost import price_of
from holdfast.replay.draw import draw
from holdfast.replay.gathered import Gathered
from holdfast.replay.processes import cores, spread
from holdfast.replay.reader import files
from holdfast.replay.report import Basis, Report, report
from holdfast.replay.runner import KNOWN, Work, frequencies, replay_all
from holdfast.replay.sample_files import write_samples
from holdfast.replay.survey import Finished, Logged, Totals, survey

_EARLY = 2.0
"""Seconds after which something is said, however much is still unread."""
_MEGABYTE = 1 << 20
EXIT_NOTHING = 1
EXIT_INTERRUPTED = 130


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="logs, or folders of them (default: yours)")
    parser.add_argument("--policy", nargs="+", action="extend", metavar="NAME|FILE", help="policies, or settings files")
    parser.add_argument("--provider", metavar="NAME", help="whose prices hold: a provider or a model")
    parser.add_argument("--window", metavar="N", help="tokens of the context window, such as 128k")
    parser.add_argument("--report", metavar="FILE", help="write a page with charts, all in one HTML file")
    parser.add_argument("--missed", action="store_true", help="list what was hidden and used later")
    parser.add_argument("--all", action="store_true", help="replay every run, not a draw of them")
    parser.add_argument("--sample", action="store_true", help="replay made-up sessions")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="processes (default: as many as processors)")
    parser.add_argument("--config", metavar="FILE", help="settings file (default: the nearest holdfast.yaml)")
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    parser.set_defaults(act=replay)
