"""The exceptions of nbrunner.

Each class takes the facts and writes its own sentence: what failed, what was
seen, what to do. Tests read the sentences.

    NbrunnerError
      UsageError            a call's arguments or a magic's line cannot be used
        UnknownParameter    (a TypeError too)
        NotAClient
        NotATool
        NotAnApprover
        NotARule
        Ungated
        UnknownName
        UnknownApprover
        UnknownTool
        LoopBlocked
        NoKey
        NothingToDebug
        NotAReply
        NotACassette
        NotAnExchange
        NotATransport
        PaceOutOfRange
      EditRefused           an edit that the API's rules forbid
      InvalidHistory        a request would be refused by the API's own rules
      ReplayError           the replies at hand do not serve this request
        ReplyMismatch
        RepliesExhausted
        Unplayable
        CassetteUnreadable
        SecretInCassette
        UnknownRecordMode
      RunFailed             a run ended with an error
      RunInterrupted        the kernel was interrupted while a run was awaited
    WaitInterrupted         the same under wait(): a KeyboardInterrupt
"""

from nbrunner.errors.approval import NotAnApprover, NotARule, Ungated, UnknownApprover
from nbrunner.errors.base import NbrunnerError, UsageError, close_matches
from nbrunner.errors.ends import (
    ReplyStopped,
    RunFailed,
    RunInterrupted,
    WaitInterrupted,
)
from nbrunner.errors.given import (
    LoopBlocked,
    NoKey,
    NotAClient,
    NotATool,
    NothingToDebug,
    UnknownName,
    UnknownParameter,
    UnknownTool,
)
from nbrunner.errors.replies import (
    CassetteUnreadable,
    NotACassette,
    NotAnExchange,
    NotAReply,
    NotATransport,
    PaceOutOfRange,
    ReplayError,
    RepliesExhausted,
    ReplyMismatch,
    SecretInCassette,
    UnknownRecordMode,
    Unplayable,
)
from nbrunner.errors.requests import EditRefused, InvalidHistory

__all__ = [
    "CassetteUnreadable",
    "EditRefused",
    "InvalidHistory",
    "LoopBlocked",
    "NbrunnerError",
    "NoKey",
    "NotACassette",
    "NotAClient",
    "NotAReply",
    "NotARule",
    "NotATool",
    "NotATransport",
    "NotAnApprover",
    "NotAnExchange",
    "NothingToDebug",
    "PaceOutOfRange",
    "ReplayError",
    "RepliesExhausted",
    "ReplyMismatch",
    "ReplyStopped",
    "RunFailed",
    "RunInterrupted",
    "SecretInCassette",
    "Ungated",
    "UnknownApprover",
    "UnknownName",
    "UnknownParameter",
    "UnknownRecordMode",
    "UnknownTool",
    "Unplayable",
    "UsageError",
    "WaitInterrupted",
    "close_matches",
]
