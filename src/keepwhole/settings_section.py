"""Groups of settings whose fields declare what they accept: a type, choices, a range.

A field declares it in its annotation. The same check runs wherever a value comes from, a constructor, a file or a
variable, and the message names the key and says what to give:

    class Gears(SettingsSection):
        section = "gears"
        teeth: Annotated[int, Range(1)] = 12
        side: Literal["left", "right"] = "left"

    Gears(teeth=0)      # ConfigError: `gears.teeth` is 0; give a whole number of at least 1.

Owns: checking a value against an annotation, reading one from text, suggesting a name for a misspelled one.
Must not know: files and variables (`config.py` reads those), what any setting is for.

Why not `msgspec.convert`: constructors are checked too, and importing msgspec costs a short command more than the rest
of its start. Two definitions of what a setting accepts would drift apart.
"""

from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, cast, get_args, get_origin

from keepwhole.canonical.value import Value
from keepwhole.errors import ConfigError
from keepwhole.version import VERSION


class Range(NamedTuple):
    """The numbers that a setting accepts, `most` included."""

    least: float = -inf
    most: float = inf
    above: bool = False
    """Whether `least` itself is refused."""

    def __contains__(self, number: object) -> bool:
        """Return whether a number is accepted; not-a-number never is."""
        value = cast("float", number)
        return (self.least < value if self.above else self.least <= value) and value <= self.most

    @property
    def words(self) -> str:
        """The range as it follows `a number`."""
        least, most = (f"{bound:,}" for bound in (self.least, self.most))
        if self.above:
            return f" above {least}" + (f" and up to {most}" if self.most < inf else "")
        if self.most < inf:
            return f" from {least} to {most}"
        return f" of at least {least}" if self.least > -inf else ""


Count: TypeAlias = Annotated[int, Range(1)]
"""A whole number of at least 1."""
Share: TypeAlias = Annotated[float, Range(0, 1)]
"""A number from 0 to 1."""
_ANY_NUMBER = Range()
_LONGEST_SHOWN = 120
"""Characters of a wrong value or name that are repeated in an error."""


class SettingsSection(Value):
    """Base of a group of settings; refuses a value that a field does not accept."""

    section = ""
    """The key that its fields are under in a settings file."""

    def _check(self) -> None:
        hints = type(self).__annotations__
        values = self.__dict__
        for name in values:
            key = f"{self.section}.{name}" if self.section else name
            values[name] = check_value(key, values[name], hints[name])


def check_value(key: str, value: object, hint: Any) -> Any:
    """Return a value as a field with this annotation keeps it; raise `ConfigError` where the field does not accept it.

    >>> check_value("proxy.hosts", ["a.example"], tuple[str, ...])
    ('a.example',)
    """
    kind, limits = _split(hint)
    origin = get_origin(kind)
    if origin is Mapping:
        return _check_mapping(key, value, *get_args(kind))
    if origin is tuple:
        if isinstance(value, list | tuple) and all(isinstance(part, str) for part in cast("list[object]", value)):
            return tuple(cast("list[str]", value))
    elif origin is Literal:
        word = {True: "on", False: "off"}[value] if isinstance(value, bool) else value  # YAML reads the words so
        if word in get_args(kind):
            return word
    elif kind in (int, float):
        if type(value) in (int, kind) and value in limits:
            return value
    elif isinstance(value, kind):
        return value
    raise ConfigError(f"`{key}` is {_shown(cast('object', value))}; give {wanted(hint)}.")


def _check_mapping(key: str, value: object, names: Any, hint: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"`{key}` is {_shown(value)}; give {wanted(Mapping)}.")
    given = {str(name): each for name, each in cast("Mapping[object, object]", value).items()}
    if get_origin(names) is Literal:
        refuse_unknown(f"{key}.", given, get_args(names))
    if hint is object:
        return given
    return {name: check_value(f"{key}.{name}", each, hint) for name, each in given.items()}


def _shown(value: object) -> str:
    """Return the beginning of a value as it is written in an error."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def wanted(hint: Any) -> str:
    """Return what a field with this annotation accepts, in words for people."""
    kind, limits = _split(hint)
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if kind in (int, float):
        return ("a whole number" if kind is int else "a number") + limits.words
    if get_origin(kind) is tuple:
        return "a list of strings"
    return "a string" if kind is str else "keys and values"


def parse_text(text: str, hint: Any) -> Any:
    """Return the value that a text gives a field with this annotation, unchecked; `ValueError` for no number.

    >>> parse_text("8_000", Count), parse_text("one.example, two.example", tuple[str, ...])
    (8000, ('one.example', 'two.example'))
    """
    kind, _ = _split(hint)
    if kind in (int, float):
        return kind(text)
    if get_origin(kind) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text


def is_scalar(hint: Any) -> bool:
    """Return whether one text can give a field with this annotation its value."""
    kind, _ = _split(hint)
    return kind in (int, float, str) or get_origin(kind) in (Literal, tuple)


def refuse_unknown(
    where: str,
    names: Iterable[str],
    known: Iterable[str],
    removed: Mapping[str, str] | None = None,
    elsewhere: Callable[[str], str | None] = lambda _: None,
) -> None:
    """Raise `ConfigError` for the first name that is not known, with the key in full and a suggestion.

    For a setting that there was in an earlier version, `removed` has what to give instead, by the key in full; for one
    that exists in another place, `elsewhere` gives its key in full.
    """
    known = tuple(known)
    for name in names:
        if name not in known:
            instead = (removed or {}).get(f"{where}{name}")
            if instead is not None:
                raise ConfigError(f"The setting `{where}{name}` was removed: {instead}")
            place = elsewhere(name)
            meant = f"Did you mean `{place}`?" if place else suggestion(name, known)
            newer = "" if place or nearest(name, known) else f" in Keepwhole {VERSION}; a newer one may have it"
            raise ConfigError(f"There is no setting `{where}{name[:_LONGEST_SHOWN]}`{newer}. {meant}")


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the known name that is nearest to a misspelled one as a question, or all of them where none is near.

    >>> suggestion("retreival_limit", ["retrieval_limit", "mode"])
    'Did you mean `retrieval_limit`?'
    """
    known = tuple(known)
    near = nearest(name, known)
    return f"Did you mean `{near}`?" if near else "Known: " + ", ".join(f"`{key}`" for key in known) + "."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest to a misspelled one; None where none is near.

    >>> nearest("shwo", ["show", "search"])
    'show'
    """
    import difflib  # only a mistake pays for it

    return next(iter(difflib.get_close_matches(name, tuple(known), 1)), None)


def _split(hint: Any) -> tuple[Any, Range]:
    """Return the bare type of an annotation, and the range that it is annotated with."""
    if get_origin(hint) is Annotated:
        kind, *notes = get_args(hint)
        return kind, next((note for note in notes if isinstance(note, Range)), _ANY_NUMBER)
    return hint, _ANY_NUMBER
