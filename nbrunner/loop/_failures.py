"""What went wrong with a request, told to a person: seen, and what to do."""

from __future__ import annotations

from json import JSONDecodeError
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2

from nbrunner.core.closing import again_advice, calls_that_ran
from nbrunner.core.events import Failure
from nbrunner.errors import NbrunnerError, ReplayError

if TYPE_CHECKING:
    from nbrunner.core.transcript import Iteration


class SilentEnd(Exception):
    """A stream ended before its reply was whole, and the SDK said nothing."""


def failure_of(error: Exception, iteration: Iteration) -> Failure:
    """What went wrong with a request, told to a person.

    Args:
        error: What `Exchange.read` raised.
        iteration: Whose request; what had come of its reply is shown, never history.
    """
    if isinstance(error, anthropic.APIConnectionError) and isinstance(
        error.__cause__, NbrunnerError
    ):
        # The SDK wraps what its transport raises; ours says it better.
        error = error.__cause__
    partial, ran = iteration.blocks, calls_that_ran(iteration)
    facts = {"message": _seen(error), "partial": partial, "calls": ran}
    if isinstance(error, ReplayError):
        return Failure(kind="replay", advice="", **facts)
    if isinstance(error, anthropic.APIStatusError):
        return _status_failure(error, facts)
    if partial or isinstance(error, SilentEnd | httpx2.StreamError):
        advice = again_advice("Retry", iteration)
        return Failure(kind="stream", advice=advice, retryable=True, **facts)
    if isinstance(error, anthropic.APIConnectionError | httpx2.HTTPError):
        advice = "Check the network and the address, then retry."
        return Failure(kind="connection", advice=advice, retryable=True, **facts)
    if _is_bad_reply(error):
        advice = "Retry; if it comes again, what answers is not the Messages API."
        return Failure(kind="api", advice=advice, retryable=True, **facts)
    advice = "The SDK did not send it: mend what it names, then retry."
    return Failure(kind="api", advice=advice, **facts)


def _status_failure(error: anthropic.APIStatusError, facts: Any) -> Failure:
    # An error inside a stream arrives with the 200 that the stream began with.
    status = None if error.status_code == httpx2.codes.OK else error.status_code
    advice, retryable = _ADVICE.get(error.type or "", (None, False))
    if advice is None:
        retryable = status is None or status >= httpx2.codes.INTERNAL_SERVER_ERROR
        advice = _PASSING if retryable else "Mend the request, then retry."
    return Failure(
        kind="api",
        advice=advice,
        status=status,
        request_id=error.request_id,
        retryable=retryable,
        **facts,
    )


_BAD_REPLY = (JSONDecodeError, AssertionError, AttributeError, LookupError, TypeError)
"""What the SDK trips over when a reply has another shape than a message."""


def _is_bad_reply(error: Exception) -> bool:
    """Whether the SDK tripped over the reply, and not over what it was to send."""
    is_ours = any(words in str(error) for words in _NOT_SENT_FOR)
    return isinstance(error, _BAD_REPLY) and not is_ours


_NOT_SENT_FOR = ("JSON serializable", "resolve authentication")
"""What says that the SDK raised one of these before there was a reply."""


_PASSING = "The service is at fault, and it passes: wait a moment, then retry."
_ADVICE: dict[str, tuple[str | None, bool]] = {
    "overloaded_error": (_PASSING, True),
    "api_error": (_PASSING, True),
    "timeout_error": (_PASSING, True),
    "rate_limit_error": ("Too many requests for this key: wait, then retry.", True),
    "authentication_error": (
        "The key is wrong or not set: set ANTHROPIC_API_KEY, then run the cell again.",
        False,
    ),
    "permission_error": ("This key may not do that: use another key or model.", False),
    "not_found_error": ("Check the name of the model.", False),
    "request_too_large": ("Send less: shorter results, fewer images.", False),
}


def _seen(error: Exception) -> str:
    """What was seen, in a sentence."""
    if isinstance(error, SilentEnd):
        return "The stream ended before the reply was whole."
    if isinstance(error, anthropic.APIStatusError):
        body = error.body if isinstance(error.body, dict) else {}
        detail = (body.get("error") or {}).get("message") or str(error)
        kind = error.type or "error"
        return f"The API answered {kind} ({_code(error)}): {detail}"
    if isinstance(error, anthropic.APIConnectionError):
        cause = error.__cause__
        return f"{error.message} ({cause!r})" if cause else error.message
    if isinstance(error, httpx2.HTTPError):
        return f"The connection broke: {error}."
    if _is_bad_reply(error):
        return f"The reply is no message of the API: reading it raised {error!r}."
    return str(error) if isinstance(error, NbrunnerError) else repr(error)


def _code(error: anthropic.APIStatusError) -> str:
    in_stream = error.status_code == httpx2.codes.OK
    return "inside the stream" if in_stream else str(error.status_code)
