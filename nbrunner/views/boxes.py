"""What every form of the panel is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbrunner.views.html import Html, h

if TYPE_CHECKING:
    from collections.abc import Iterable


def text_box(field: str, shown: str, label: str) -> Html:
    """A box for text that a person can change.

    Args:
        field: What the front end calls the field when it sends the form.
        shown: The text in it.
        label: Its name, for a screen reader.
    """
    # HTML takes the first line break of a textarea away: it gets one to take.
    return h(
        "textarea",
        f"\n{shown}",
        rows="1",
        class_="nbr-text",
        data_field=field,
        aria_label=label,
    )


def choice_box(
    field: str, shown: str, options: Iterable[tuple[str, str]], label: str
) -> Html:
    """A box in which a person chooses one of some values.

    Args:
        field: What the front end calls the field when it sends the form.
        shown: The value that is chosen now.
        options: Each value with its words; what is shown is one of them.
        label: Its name, for a screen reader.
    """
    return h(
        "select",
        [
            h("option", said, value=value, selected=value == shown)
            for value, said in options
        ],
        class_="nbr-text",
        data_field=field,
        aria_label=label,
    )


def place_of_refusal() -> Html:
    """Where the front end says why a form was not obeyed."""
    return h("span", class_="nbr-refused", role="alert", data_own=True)
