"""The SDK's client over a transport, marked with where its replies come from.

The only module of the package that loads the SDK; cassettes and scripts are made
without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
from anthropic import (
    Anthropic,
    APIRequest,
    APIResponse,
    CallNext,
    DefaultHttpxClient,
    Middleware,
)

from nbrunner.errors import NotATransport
from nbrunner.replay.recorder import Recorder
from nbrunner.replay.transport import Replies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbrunner.core.events import Source


class SourceMark(Middleware):
    """Says where the replies of a client come from; changes nothing.

    A client's middleware is public, and stays with its copies (`with_options`); its
    transport is neither.
    """

    def __init__(self, transport: httpx2.BaseTransport) -> None:
        self._transport = transport

    @property
    def source(self) -> Source:
        """Where they come from, as of now."""
        if isinstance(self._transport, Replies | Recorder):
            return self._transport.source
        return "live"

    @property
    def matched_by_order(self) -> bool:
        """Whether recorded replies are played without a look at the requests."""
        transport = self._transport
        return isinstance(transport, Replies | Recorder) and transport.matched_by_order

    def handle(self, request: APIRequest, call_next: CallNext) -> APIResponse[Any]:
        """Pass a request on."""
        return call_next(request)


def connect(transport: httpx2.BaseTransport) -> Anthropic:
    """The SDK's client over a transport.

    Replies, and a recorder that plays, start from the top with each client, need no
    key, and are not retried: a scripted error is seen at once. Over a transport
    that goes live, the client has the SDK's own defaults and takes its key from the
    environment.

    Args:
        transport: From `play()` or `record()`, or any other httpx2 transport.

    Raises:
        NotATransport: It is not an `httpx2.BaseTransport`.
    """
    if not isinstance(transport, httpx2.BaseTransport):
        raise NotATransport(transport)
    if isinstance(transport, Replies | Recorder):
        transport = transport.session()
    mark = SourceMark(transport)
    http_client = DefaultHttpxClient(transport=transport)
    if mark.source == "live":
        return Anthropic(http_client=http_client, middleware=[mark])
    return Anthropic(
        api_key="replayed", max_retries=0, http_client=http_client, middleware=[mark]
    )


def source_of(client: Anthropic) -> Source:
    """Where the replies of a client come from; of one not from `connect()`, live."""
    return next((mark.source for mark in _marks(client)), "live")


def is_matched_by_order(client: Anthropic) -> bool:
    """Whether a client's recorded replies answer whatever is asked, in their order."""
    return any(mark.matched_by_order for mark in _marks(client))


def _marks(client: Anthropic) -> Iterator[SourceMark]:
    return (mark for mark in client.middleware if isinstance(mark, SourceMark))
