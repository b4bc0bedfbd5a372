"""Frozen values compared by content: the base of entries, settings and results.

Why not dataclasses or a library: importing either costs more CPU than all the rest of a short command
(`docs/decisions/0003-values.md`). What is needed of them fits on this page.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar, Self, dataclass_transform


@dataclass_transform(frozen_default=True)
class Value:
    """Base of a frozen value: the annotated names are its fields, in order; an assigned one has a default."""

    fields: ClassVar[tuple[str, ...]] = ()
    _names: ClassVar[frozenset[str]] = frozenset()
    _required: ClassVar[frozenset[str]] = frozenset()
    _values: ClassVar[Callable[[Any], tuple[Any, ...]]]
    """Gets the values of all fields, in order."""

    def __init_subclass__(cls) -> None:
        own = cls.__annotations__
        cls.fields = (*cls.fields, *(name for name in own if name not in cls.fields))
        cls._names = frozenset(cls.fields)
        cls._required = frozenset(name for name in cls.fields if not hasattr(cls, name))
        # A getter of one name returns no tuple. Measured: a fifth of the time of a loop over `getattr`.
        cls._values = attrgetter(*cls.fields) if len(cls.fields) > 1 else _values_one_by_one

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        values = self.__dict__
        if args:
            values.update(zip(self.fields, args, strict=False))
        values.update(kwargs)
        if len(values) != len(args) + len(kwargs) or not self._required <= values.keys() <= self._names:
            self._refuse_fields(len(args) + len(kwargs))
        self._check()

    def _refuse_fields(self, given: int) -> None:
        """Raise the `TypeError` for fields that are missing, unknown or given twice."""
        values = self.__dict__
        if len(values) != given or not self._names >= values.keys():
            raise TypeError(f"{type(self).__name__} takes {', '.join(self.fields)}, each once")
        missing = ", ".join(sorted(self._required - values.keys()))
        raise TypeError(f"{type(self).__name__} needs {missing}")

    def _check(self) -> None:
        """Refuse values that cannot be; nothing to refuse here."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} does not change; make another with `replace`")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} does not change; make another with `replace`")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Value)
            and type(other) is type(self)
            and type(self)._values(self) == type(self)._values(other)
        )

    def __hash__(self) -> int:
        return hash((type(self), *type(self)._values(self)))

    def __repr__(self) -> str:
        written = ", ".join(f"{name}={value!r}" for name, value in self.as_dict().items())
        return f"{type(self).__name__}({written})"

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, in order."""
        return dict(zip(self.fields, type(self)._values(self), strict=True))

    def is_given(self, name: str) -> bool:
        """Return whether a field was given, to this value or to one that it was made from, rather than defaulted."""
        return name in self._names and name in self.__dict__

    def replace(self, **changes: Any) -> Self:
        """Return the same value with some fields changed; a field that nobody has given stays so."""
        given = {name: value for name, value in self.__dict__.items() if name in self._names}
        return type(self)(**{**given, **changes})


def _values_one_by_one(value: Value) -> tuple[Any, ...]:
    return tuple(getattr(value, name) for name in value.fields)
