"""What is known of one client: how to recognize it, what it writes, and where its files are.

Owns: the fields of a client's data file. Every fact was seen in a run of the real program, or read in its text.
Must not know: what is done with a fact. No file is opened here, and no other part of Keepwhole is imported.
"""

from collections.abc import Mapping
from typing import NamedTuple


class ClientFolder(NamedTuple):
    """A folder of a client on the user's machine: `below` the folder that a variable names, or else the usual one."""

    usual: str
    """Where the folder is if the variable is not set; it begins with `~` for the home folder, else in the project."""
    variable: str = ""
    """The environment variable that names another folder."""
    below: str = ""
    """The path below either of them."""

    def path(self, home: str, environ: Mapping[str, str], project: str = "") -> str:
        """The path of the folder for a user with this home folder and environment, who works in a project.

        >>> ClientFolder("~/.toy", "TOY_HOME", "logs").path("/home/me", {})
        '/home/me/.toy/logs'
        """
        usual = _joined(home, self.usual[2:]) if self.usual[:1] == "~" else _joined(project, self.usual)
        return _joined(environ.get(self.variable) or usual, self.below)


class ClientFiles(NamedTuple):
    """Files of a client in one of its folders."""

    folder: ClientFolder
    patterns: tuple[str, ...]
    """Paths below the folder, with `*` for any characters, also `/`; one without `/` is for the folder alone."""


class Mark(NamedTuple):
    """Text that a client writes where it cut a result."""

    anchor: str
    """Words in every such text that few others have, in lower case; they are looked for first."""
    pattern: str
    """A regular expression for the text in lower case; all its repeats are bounded."""


class Frame(NamedTuple):
    """Text that a client puts inside a result, directly before or behind what the tool returned.

    A form must be so narrow that nothing else fits into it: what is in a frame is shown as it came, always.
    """

    begins: str
    """How it begins."""
    pattern: str
    """A regular expression for what is between its beginning and its end; all its repeats are bounded."""
    ends: str
    """How it ends."""
    has_any_words: bool = False
    """Whether words that are not the client's fit into the form, such as a path: then it is looked through for imitated
    notices."""


class ClientFacts(NamedTuple):
    """One client."""

    name: str
    """The agent's name in the record and in the commands of Keepwhole."""
    title: str
    """The name that its makers use."""
    command: str = ""
    """The command that starts it."""
    versions: tuple[str, ...] = ()
    """The versions that were tried, oldest first."""
    user_agents: tuple[str, ...] = ()
    """How the header `User-Agent` of its requests begins; its version follows."""
    session_headers: tuple[str, ...] = ()
    """Headers that name a request's session; the first one that a request has counts."""
    agent_header: str = ""
    """The header that names the agent that sends a request: a sub-agent where it differs from the session's name."""
    metadata_header: str = ""
    """A header with JSON in which `request_kind` says what a request is for."""
    compaction_prompts: tuple[str, ...] = ()
    """How the text begins with which it asks for a summary of the conversation."""
    compaction_histories: tuple[str, ...] = ()
    """How a text begins that it wants summarized, in a request without tools."""
    cut_marks: tuple[Mark, ...] = ()
    """What it writes where it cut a result."""
    cleared_marks: tuple[str, ...] = ()
    """What it writes in the place of a result of which nothing is left: regular expressions, in lower case."""
    frames_before: tuple[Frame, ...] = ()
    """What it puts before the text that a tool returned."""
    frames_behind: tuple[Frame, ...] = ()
    """What it puts behind that text; there may be several of these."""
    exit_code: str = ""
    """A regular expression for the words in a frame that say how a command ended; its group 1 is the exit code."""
    reader: str = ""
    """Its tool that reads files: `Read`, `read`, `read_file` or `sed`."""
    settings: ClientFolder = ClientFolder("~")
    """The folder with the user's settings of the client."""
    project_settings: str = ""
    """The folder with its settings inside a project."""
    hooks_file: str = ""
    """The path of the file with its hooks below either of them."""
    logs: tuple[ClientFiles, ...] = ()
    """Its logs of sessions."""
    saved_outputs: tuple[ClientFiles, ...] = ()
    """The files in which it saves outputs whole that it cuts."""
    cut_forms: tuple[str, ...] = ()
    """How a result reads from its beginning that it cut: regular expressions in which `.` is any character. The groups
    `head` and `tail` are the parts of the original, `path` the file that has it, `size` and `lines` what is said of
    it. A form without `head` and `tail` only tells that a result was cut."""
    saved_to: str = ""
    """A regular expression for the words of a cut result that name such a file; its group 1 is the path."""

    def is_untried(self, version: str) -> bool:
        """Whether a version is newer than all that were tried; what cannot be compared is not.

        >>> toy = ClientFacts("toy", "Toy", versions=("1.9.0", "1.10.2"))
        >>> toy.is_untried("1.10.10"), toy.is_untried("1.9.9"), toy.is_untried("")
        (True, False, False)
        """
        tried = [_numbers(one) for one in self.versions]
        return bool(tried) and _numbers(version) > max(tried)


def _numbers(version: str) -> tuple[int, ...]:
    """A version as numbers; empty where it is not made of them."""
    parts = version.split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() and len(part) < 10 for part in parts) else ()


def _joined(folder: str, path: str) -> str:
    return f"{folder.removesuffix('/')}/{path}" if folder and path else folder or path
