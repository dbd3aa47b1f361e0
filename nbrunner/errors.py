"""The exceptions of nbrunner.

Each class takes the facts and writes its own sentence: what failed, what was
seen, what to do. Tests read the sentences.

    NbrunnerError
      UsageError            a magic's line or a call's arguments cannot be used
        UnknownTool
        NotATool
        UnknownParameter
        NoKey
      InvalidHistory        a request would be refused by the API's own rules
      ReplayError           the replies at hand do not serve this request
        ReplyMismatch
        RepliesExhausted
        CassetteUnreadable
        UnknownRecordMode
      RunFailed             a run ended with an error
"""

from __future__ import annotations


class NbrunnerError(Exception):
    """Base of every exception that nbrunner raises on purpose."""
