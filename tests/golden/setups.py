"""The settings files and store-backed sessions that several scenarios share."""

from typing import Any

from tests.golden import doors
from tests.golden.recorder import Recorder

SETTINGS: dict[str, str] = {
    "default": "",
    "truncation": "policy: truncation\n",
    "lean": "preset: lean\n",
    "small": "policy: truncation\ntools:\n  truncation:\n    inline_limit: 1500\n    artifact_threshold: 12000\n"
    "    preview_limit: 600\n",
    "overrides": "tools:\n  truncation:\n    default_strategy: tail\n    overrides:\n"
    "      bash: {inline_limit: 900, strategy: head_tail, head_ratio: 0.2}\n"
    "      read_file: {strategy: lines, max_lines: 20, side: both}\n"
    "      query: {strategy: element, max_depth: 3, keep_keys: [id, name]}\n"
    "      grep: {artifact_threshold: 2000, preview_limit: 300}\n",
    "line_cap": "policy: truncation\ntools:\n  truncation:\n    line_cap: 120\n    inline_limit: 4000\n",
    "off": "recall: 'off'\n",
    "quota": "session_quota: 60000\n",
    "tight": "models:\n  default: {window: 12000}\n  claude: {window: 12000}\n  gpt: {window: 12000}\n"
    "  gpt-4o: {window: 12000}\n  gpt-5: {window: 12000}\n",
    "window": "models:\n  default: {window: 30000}\n  claude: {window: 30000}\n"
    "  gpt-4o: {window: 30000}\n  gpt-5: {window: 30000}\n",
    "eager": "auto:\n  start: 2000\n  worth: 0\n  horizon: 1000\n  clear_at_least: 50\n  min_tokens: 50\n"
    "  recent_steps: 0\n  keep_steps: 1\n  max_loss: 1000\n"
    "  most: 20000\n  outsized: 30000\n"
    "  arrival_least: {shell: 3000, search: 3000, other: 3000, read: 15000}\n",
    "summed": "policy: truncation\nmodels:\n  default: {window: 12000}\n  claude: {window: 12000}\n"
    "  gpt-4o: {window: 12000}\n  gpt-5: {window: 12000}\n",
    "shadow": "mode: shadow\n",
    "mode_off": "mode: 'off'\n",
    "lean_window": "preset: lean\nretrieval_limit: 4000\nmodels:\n  default: {window: 24000}\n"
    "  claude: {window: 24000, read: 0.05}\n  gpt-4o: {window: 24000}\n  gpt-5: {window: 24000}\n",
}
_MADE: dict[str, Any] = {}


def settings(name: str) -> Any:
    """The settings of a name, read once."""
    if name not in _MADE:
        _MADE[name] = doors.settings(SETTINGS[name])
    return _MADE[name]


class Work:
    """A session over a store, which can be opened again, with one clock."""

    def __init__(self, out: Recorder, name: str, given: str = "default", store: Any = None, **options: Any) -> None:
        self.out, self.name, self.options = out, name, options
        self.settings = settings(given)
        self.clock = doors.Clock()
        self.store = store if store is not None else doors.memory_store()
        self._opened = self._steps = 0
        self.session = self.again()

    def again(self) -> Any:
        """Another session object over the same store, as another process would have it."""
        self._opened += 1
        return doors.open_session(
            store=self.store,
            settings=self.settings,
            clock=self.clock,
            seed=f"{self.name}/{self._opened}",
            **self.options,
        )

    def restart(self) -> None:
        """Go on as a new process does."""
        self.session = self.again()

    def record(self, value: Any, label: str = "") -> None:
        """Record what came out of the next step."""
        self._steps += 1
        self.out.add(f"{self.name}/{self._steps:02d}{label and '-'}{label}", value)

    def view(self, messages: Any, label: str = "", session: Any = None, **options: Any) -> Any:
        """View and record, some time later."""
        self.clock.tick()
        shown = doors.view(session or self.session, messages, **options)
        self.record(shown, label)
        return shown

    def tried(self, label: str, work: Any) -> None:
        """Record what a call gives, or how it refuses."""
        try:
            found = work()
        except doors.Error as error:
            found = doors.plain(error)
        self.record(found, label)

    def end(self) -> None:
        """Record what is on record."""
        self.out.add(f"{self.name}/record", doors.record(self.store))
