"""What every form of the panel is made of."""

from __future__ import annotations

from nbrunner.views.html import Html, h


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


def place_of_refusal() -> Html:
    """Where the front end says why a form was not obeyed."""
    return h("span", class_="nbr-refused", role="alert", data_own=True)
