"""Objects of JSON as Python objects."""
from __future__ import annotations

from typing import Any, ClassVar


class Record:
    """An object of a report. Its fields are attributes; lists are tuples."""

    _parts: ClassVar[dict[str, type[Record]]] = {}  # by field: the class of its object, or of the objects in its list
    _names: ClassVar[dict[str, str]] = {}           # attributes that aren't called as their field

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields
        for field, value in fields.items():
            setattr(self, self._names.get(field, field), self._of(self._parts.get(field), value))

    @staticmethod
    def _of(part: type[Record] | None, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(Record._of(part, each) for each in value)
        return part(value) if part and value is not None else value

    def to_dict(self) -> dict[str, Any]:
        """The object as the JSON report has it."""
        return self._fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and type(self) is type(other) and self._fields == other._fields

    def __repr__(self) -> str:
        fields = ", ".join(f"{self._names.get(field, field)}={value!r}" for field, value in self._fields.items())
        return f"{type(self).__name__}({fields})"
