"""The line of `%%toolrun`, parsed. It is never formatted and never evaluated."""

from __future__ import annotations

import argparse
import keyword
import shlex
from dataclasses import dataclass, replace
from typing import NoReturn

from nbrunner.core.caching import block_address
from nbrunner.errors import UsageError, close_matches

USAGE = """\
%%toolrun [NAME] --tools TOOL,TOOL [options]
<the message to Claude>

For example:
    %%toolrun weather --tools get_weather,calculate_sum
    What's the weather in Paris? Also, what's 15 + 27?

%%toolrun --help lists the options."""


CACHE_PLACES = ("system", "tools", "results", "request")
"""Where `--cache` sets marks; `results` are the newest ones, request by request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What the line of a cell asks for; names are names of notebook variables."""

    name: str | None
    continues: str | None
    fork: str | None
    new: bool
    tools: tuple[str, ...]
    main_thread: tuple[str, ...]
    model: str | None
    system: str | None
    system_text: str | None
    max_tokens: int | None
    max_iterations: int | None
    cassette: str | None
    record: str | None
    client: str | None
    params: str | None
    approve: str | None
    cache: tuple[str, ...]
    eager: bool
    parallel: bool
    step: bool
    hold: bool
    break_on_error: bool
    detach: bool


class HelpAsked(Exception):
    """Someone asked for `--help`; its text is the argument."""


class _Parser(argparse.ArgumentParser):
    """A parser that raises its complaint in place of leaving the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%toolrun: {message}.{self._hint(message)}\n\n{USAGE}")

    def _hint(self, message: str) -> str:
        """The option that a mistyped one may have meant."""
        options = [name for action in self._actions for name in action.option_strings]
        unknown = [word for word in message.split() if word.startswith("--")]
        near = [match for word in unknown for match in close_matches(word, options)]
        return f" Did you mean {near[0]}?" if near else ""


def _parser() -> _Parser:
    usage = USAGE.replace("%", "%%")  # argparse formats it
    parser = _Parser(prog="%%toolrun", add_help=False, allow_abbrev=False, usage=usage)
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="variable that gets the run")
    add(
        "--continue",
        dest="continues",
        metavar="RUN",
        help="go on with this run; with a NAME, in a branch of it by that name",
    )
    add(
        "--fork",
        metavar="RUN@K",
        help="go another way from iteration K of this run on, counted from 0",
    )
    add(
        "--new",
        action="store_true",
        help="start anew, where %%config ToolrunMagics.continues goes on by default",
    )
    add(
        "--tools",
        action="append",
        default=[],
        metavar="TOOL,TOOL",
        help="variables that hold the tools",
    )
    add(
        "--main-thread",
        action="append",
        default=[],
        metavar="TOOL,TOOL",
        help="those of the tools that hold something of the notebook's own thread, "
        "such as an open sqlite3 connection: they run on it",
    )
    add("--model", help="model of the requests")
    add("--system", metavar="VARIABLE", help="variable with the system prompt")
    add("--system-text", metavar="TEXT", help="the system prompt itself, in quotes")
    add("--max-tokens", type=_positive, metavar="N", help="most tokens of a reply")
    add("--max-iterations", type=_positive, metavar="N", help="most replies of a run")
    add("--cassette", metavar="PATH", help="play, or record, the replies in this file")
    add("--record", metavar="MODE", help="none (default), once, new_episodes, rewrite")
    add(
        "--client",
        metavar="VARIABLE",
        help="variable with an Anthropic client or with replies to play",
    )
    add("--params", metavar="VARIABLE", help="variable with a dict of more parameters")
    add(
        "--approve",
        metavar="WHO",
        help="all (default), ask, none, or a variable with an approver: by_tool({...})",
    )
    add(
        "--cache",
        action="append",
        default=[],
        metavar="PLACE,PLACE",
        help=f"cache marks from the start: {', '.join(CACHE_PLACES)}",
    )
    add(
        "--eager",
        action="store_true",
        help="run each call while its reply still streams (run_tools_eagerly)",
    )
    add(
        "--parallel",
        action="store_true",
        help="make the calls of a reply side by side (parallel_calls)",
    )
    add("--step", action="store_true", help="halt before each request")
    add(
        "--break-on-error",
        action="store_true",
        help="pause when a tool call failed, before Claude reads of it",
    )
    add(
        "--hold",
        action="store_true",
        help="keep the panel open at the end, for follow-ups, until you finish it",
    )
    add(
        "--detach",
        action="store_true",
        help="return at once; the run goes on, and `await NAME` joins it",
    )
    add("--help", "-h", action="store_true", help="show this")
    return parser


def help_text() -> str:
    """The usage and every option, in words."""
    return _parser().format_help()


def parse_line(line: str) -> Line:
    """The options of a line.

    Raises:
        UsageError: An option is unknown, or its value cannot be used.
        HelpAsked: The line asks for help.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"%%toolrun: {error} in the line: {line.strip()}") from error
    parser = _parser()
    options = vars(parser.parse_args(words))
    if options.pop("help"):
        raise HelpAsked(help_text())
    name = options["name"]
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        raise UsageError(
            f"%%toolrun {name}: the run's name has to be a Python variable name. "
            "Tools are named with --tools."
        )
    if options["system"] and options["system_text"]:
        raise UsageError("Give --system VARIABLE or --system-text TEXT, not both.")
    if options["cassette"] and options["client"]:
        raise UsageError("Give --cassette PATH or --client VARIABLE, not both.")
    if options["record"] and not options["cassette"]:
        raise UsageError(
            "--record says how to use a --cassette PATH, which is missing."
        )
    if options["continues"] and options["fork"]:
        raise UsageError("Give --continue RUN or --fork RUN@K, not both.")
    if options["new"] and (options["continues"] or options["fork"]):
        raise UsageError("--new starts anew: leave out --continue and --fork.")
    options["tools"] = _listed(options["tools"])
    options["main_thread"] = _listed(options["main_thread"])
    options["cache"] = tuple(
        map(_cache_place, dict.fromkeys(_listed(options["cache"])))
    )
    return Line(**options)


def going_on(line: Line, name: str) -> Line:
    """The line of a cell that goes on with a run unless it says otherwise."""
    if line.new or line.continues or line.fork:
        return line
    return replace(line, continues=name)


def _listed(given: list[str]) -> tuple[str, ...]:
    """The names of an option that takes several, given once or more often."""
    return tuple(name for words in given for name in words.replace(",", " ").split())


def _cache_place(place: str) -> str:
    """A place where a mark can be asked for before anything is sent.

    Raises:
        UsageError: There is no such place.
    """
    if place in CACHE_PLACES or block_address(place):
        return place
    near = close_matches(place, CACHE_PLACES)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise UsageError(
        f"--cache {place}: no cache mark can stand there.{hint} Name "
        f"{', '.join(CACHE_PLACES)} or a block such as messages[0].content[0]."
    )


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        message = f"{text!r} is not a number from 1 up"
        raise argparse.ArgumentTypeError(message)
    return number
