"""What the panel says of the page it is in: the front end knows when, and shows it."""

from __future__ import annotations

from nbrunner.views.html import Html, h, join

DEAF = (
    "This kernel hears clicks only when its cell is done; until then its stop button "
    "(interrupt) ends the run. With --detach the cell returns at once, and everything "
    "here works while the run goes on."
)

RELOADED = (
    "The notebook was opened again while this cell ran, so Jupyter will not put the "
    "result in here. To keep it, run this in a new cell:"
)


def blocked(name: str) -> str:
    """Why a panel hears nothing whose cell blocks the kernel, and what to do.

    Args:
        name: What the run is called.
    """
    return (
        "This cell blocks the kernel: clicks are heard only when it is done; until "
        "then the kernel's stop button (interrupt) ends the run. `await "
        f"{name}`, or %%toolrun with no magic above it, leaves it free to hear them."
    )


def notices_fragment(name: str, *, blocks: bool) -> Html:
    """The sentences that the front end uncovers when they come true.

    No new rendering covers them again (data-own).

    Args:
        name: What the run is called.
        blocks: Whether the panel's cell blocks the kernel while it runs.
    """
    own = {"data_own": True}
    deaf = blocked(name) if blocks else DEAF
    line = h("code", name, class_="nbr-py")
    return join(
        [
            h("div", class_="nbr-refused", role="alert", data_key="refused", **own),
            h("div", deaf, class_="nbr-deaf", data_key="deaf", hidden=True, **own),
            h(
                "div",
                [RELOADED, " ", line],
                class_="nbr-reloaded",
                data_key="reloaded",
                hidden=True,
                **own,
            ),
        ]
    )
