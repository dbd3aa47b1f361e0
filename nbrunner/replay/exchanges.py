"""Exchanges that another program kept, as a cassette: plain {request, response} pairs.

Such a list holds no times, and its requests may be older than today's SDK or come
from other tools, so the cassette's replies are matched by order.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbrunner.errors import CassetteUnreadable, NotAnExchange
from nbrunner.replay.cassette import Cassette
from nbrunner.replay.episode import Episode, StoredResponse, timed
from nbrunner.replay.sse import Decoder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbrunner.replay.writing import AnyPath

_OK = 200
_ENDS = ("message_stop", "error")
_STREAM_STARTS = ("event:", "data:", ":")


def import_exchanges(exchanges: Iterable[Mapping[str, Any]] | AnyPath) -> Cassette:
    """A cassette of a plain list of exchanges, whose replies are matched by order.

    Each exchange is `{"request": ..., "response": ...}`. The request is a body, or
    holds one under `body`. So is the response, where `status` and `content_type` may
    stand beside the body; the body is JSON, or the raw text of a stream. Events of
    a stream get the times of a model at work, since the list holds none.

    Args:
        exchanges: The list, or the path of a JSON file that holds it.

    Returns:
        A cassette to play, or to save: then it keeps that it is matched by order.

    Raises:
        CassetteUnreadable: There is no such file, or it holds no JSON.
        NotAnExchange: Something in the list is no exchange.
    """
    if isinstance(exchanges, str | os.PathLike):
        exchanges = _read(exchanges)
    # A mapping is iterable too, by its keys.
    if isinstance(exchanges, dict) or not isinstance(exchanges, Iterable):
        raise NotAnExchange("This", exchanges)
    return Cassette(
        source="recorded",
        matched_by="order",
        episodes=tuple(
            _episode(number, exchange)
            for number, exchange in enumerate(exchanges, start=1)
        ),
    )


def _read(path: AnyPath) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CassetteUnreadable.missing(path, Path.cwd()) from None
    except (OSError, ValueError) as error:
        raise CassetteUnreadable.because(path, str(error)) from error


def _episode(number: int, exchange: object) -> Episode:
    match exchange:
        case {"request": dict(request), "response": dict() | str() as response}:
            body = request.get("body", request)
            if isinstance(body, dict):
                request = {k: v for k, v in body.items() if k != "stream"}
                return Episode(request=request, response=_response(number, response))
    raise NotAnExchange(f"Exchange {number}", exchange)


def _response(number: int, response: dict[str, Any] | str) -> StoredResponse:
    if isinstance(response, str) or "body" not in response:
        response = {"body": response}
    body, status = response["body"], response.get("status", _OK)
    if not isinstance(body, dict | str) or not isinstance(status, int):
        raise NotAnExchange(f"Exchange {number}", {"response": response})
    kind = response.get("content_type")
    headers = {"content-type": str(kind)} if kind else {}
    if isinstance(body, dict) or not _is_stream(body):
        return StoredResponse(status=status, headers=headers, body=body)
    events = list(Decoder().feed(body.encode("utf-8", "replace")))
    return StoredResponse(
        status=status,
        headers=headers,
        events=timed(events),
        cut=not any(name in _ENDS for name, _ in events),
    )


def _is_stream(text: str) -> bool:
    return text.lstrip().startswith(_STREAM_STARTS)
