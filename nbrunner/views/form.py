"""An input as a form, and the form read back.

Flat inputs have a field for each parameter; any other is edited as JSON. A field that
nobody touched keeps what Claude proposed to the letter, whatever was shown of it:
views redact, and what they show is not always what is there.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbrunner.core.redact import REDACTED, redact_json
from nbrunner.views.fields import at, items_at, text_at
from nbrunner.views.printable import printable
from nbrunner.views.words import pretty

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_FIELDS = 20
LONGEST_SHOWN = 20_000
"""Characters of an input that can be edited in a page; Python takes any."""

WHOLE = "whole"
"""The name of the one field that holds an input as JSON."""

_KINDS = ("string", "integer", "number", "boolean")
_ABSENT = object()


class NotAnInput(Exception):
    """What was typed into a form makes no input; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One parameter of a tool, as a person edits it.

    Attributes:
        name: The parameter.
        kind: What it takes; `enum` is one of `options`.
        options: What can be chosen, where a choice is offered.
        is_required: Whether it cannot be left out.
        is_nullable: Whether it takes null.
        about: What the tool says of it.
        proposed: What Claude proposed; `_ABSENT` where it left it out.
    """

    name: str
    kind: str
    options: tuple[Any, ...]
    is_required: bool
    is_nullable: bool
    about: str
    proposed: Any

    @property
    def is_given(self) -> bool:
        """Whether Claude gave it."""
        return self.proposed is not _ABSENT

    @property
    def shown(self) -> str:
        """What the page shows of the proposed value, redacted."""
        if not self.is_given or (self.proposed is None and not self.options):
            return ""
        clean = redact_json({self.name: self.proposed})
        value = next(iter(clean.values()))
        is_text = isinstance(value, str) and not self.options
        return printable(value if is_text else _json(value))

    def read(self, text: str) -> Any:
        """The value that a text in the field stands for; `_ABSENT` leaves it out.

        Raises:
            NotAnInput: It stands for none.
        """
        if text == self.shown and (self.is_given or self.kind != "string"):
            is_kept = self.kind != "string" or not _is_number(self.proposed)
            return self.proposed if is_kept else text
        if self.options:
            return _ABSENT if text == "" else _chosen(self, text)
        if self.kind == "string":
            check_not_redacted(f"`{self.name}`", text, self.shown)
            return text if text or self.is_required or self.is_given else _ABSENT
        if not text.strip():
            return None if self.is_nullable and self.is_given else _ABSENT
        return _number(self, text)


def fields_of(schema: Any, proposed: Any) -> tuple[Field, ...]:
    """The fields of a flat input; none where it is to be edited as JSON."""
    properties = at(schema, "properties")
    if not (isinstance(properties, dict) and isinstance(proposed, dict)):
        return ()
    if len(properties) > MOST_FIELDS or proposed.keys() - properties.keys():
        return ()
    required = items_at(schema, "required")
    fields = [
        _field(name, given, proposed.get(name, _ABSENT), is_required=name in required)
        for name, given in properties.items()
    ]
    return tuple(f for f in fields if f) if all(fields) else ()


def read_form(schema: Any, proposed: Any, filled: Mapping[str, str]) -> Any:
    """The input that a filled form stands for.

    Args:
        schema: The tool's input schema.
        proposed: What Claude proposed.
        filled: The texts of the fields by their number, or of the one as JSON.

    Raises:
        NotAnInput: It stands for none; which field, and why.
    """
    if WHOLE in filled:
        return read_json(proposed, unified(filled[WHOLE]))
    changed: dict[str, Any] = dict(proposed) if isinstance(proposed, dict) else {}
    for number, field in enumerate(fields_of(schema, proposed)):
        if (text := filled.get(str(number))) is None:
            continue
        value = field.read(unified(text))
        if value is _ABSENT:
            changed.pop(field.name, None)
        else:
            changed[field.name] = value
    return changed


def shown_json(proposed: Any) -> str | None:
    """An input as the JSON that a person edits; None where it is too long for that."""
    text = printable(pretty(proposed))
    return text if len(text) <= LONGEST_SHOWN else None


def read_json(proposed: Any, text: str) -> Any:
    """What a person made of the JSON that `shown_json` showed.

    Raises:
        NotAnInput: It is no JSON, or holds a part that was never shown.
    """
    shown = shown_json(proposed)
    if text == shown:
        return proposed
    check_not_redacted("The input", text, shown or "")
    try:
        value = json.loads(text)
        # Python reads NaN and 1e999, which no request can carry.
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as error:
        message = f"That is no JSON: {error}."
        raise NotAnInput(message) from error
    return value


def _field(name: str, given: Any, proposed: Any, *, is_required: bool) -> Field | None:
    """A parameter as a field; None where no field can hold it."""
    if isinstance(proposed, dict | list):
        return None
    kinds = [s for s in items_at(given, "anyOf") if at(s, "type") != "null"]
    is_nullable = len(kinds) == 1 and len(items_at(given, "anyOf")) == 2  # noqa: PLR2004
    simple = kinds[0] if is_nullable else given
    options = at(simple, "enum")
    kind = at(simple, "type")
    if isinstance(options, list) and options:
        if any(isinstance(option, dict | list) for option in options):
            return None
        kind = "enum"
    elif kind == "boolean":
        options = [True, False]
    elif kind not in _KINDS or (at(given, "anyOf") and not is_nullable):
        return None
    return Field(
        name=name,
        kind=str(kind),
        options=(*(options or ()), *((None,) if is_nullable and options else ())),
        is_required=is_required,
        is_nullable=is_nullable,
        about=text_at(given, "description"),
        proposed=proposed,
    )


def _chosen(field: Field, text: str) -> Any:
    chosen = [option for option in field.options if _json(option) == text]
    if not chosen:
        message = f"`{field.name}` has no choice {text!r:.80}."
        raise NotAnInput(message)
    return chosen[0]


def _number(field: Field, text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not _is_number(value) or (field.kind == "integer" and value != int(value)):
        wanted = "a whole number" if field.kind == "integer" else "a number"
        message = f"`{field.name}` has to be {wanted}, and is {text!r:.80}."
        raise NotAnInput(message)
    return int(value) if field.kind == "integer" else value


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


def check_not_redacted(what: str, text: str, shown: str) -> None:
    """Refuse a text that would put the redaction in place of a secret.

    Raises:
        NotAnInput: It would.
    """
    if REDACTED in text and REDACTED in shown:
        message = (
            f"{what} holds a secret that is not shown: leave it as it is, or write all "
            f"of it in place of {REDACTED}."
        )
        raise NotAnInput(message)


def unified(text: str) -> str:
    """A text of a page with the line breaks of Python."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)
