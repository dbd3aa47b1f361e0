"""How often the SDK sends one request by itself, before anyone hears of it.

Its client has its own retries (`max_retries`, 2 by default), with waits between them
that can be long: a reply that is late for this should say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    OnResent: TypeAlias = Callable[[str], None]


class Resends:
    """The SDK's middleware: called once for each time that a request is sent.

    Args:
        on_resent: Told of each time but the first, with what was seen the time
            before; may raise to break off.
    """

    def __init__(self, on_resent: OnResent) -> None:
        self._on_resent = on_resent
        self._seen = ""

    def __call__(self, request: Any, send: Callable[[Any], Any]) -> Any:
        """Send a request once, and note what came of it."""
        if request.retries_taken:
            self._on_resent(self._seen)
        try:
            response = send(request)
        except Exception as error:
            self._seen = str(error)
            raise
        self._seen = str(response.status_code)
        return response
