"""The cache inspector: one rendering for the panel, the static page and Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nbrunner.core.inspection import Inspection, inspect, missed
from nbrunner.views import cache_words as words
from nbrunner.views.diff import diff_fragment, diff_lines, shown_texts
from nbrunner.views.html import Child, Html, h, spaced
from nbrunner.views.look import Look, chip, is_lasting, label_line
from nbrunner.views.printable import printable
from nbrunner.views.words import count, without_ids

if TYPE_CHECKING:
    from nbrunner.core.breakpoints import Breakpoint
    from nbrunner.core.transcript import Iteration, Transcript


def cache_key(index: int) -> str:
    """The key of the inspector of an iteration."""
    return f"it{index}.cache"


def cache_fragments(
    transcript: Transcript, iteration: Iteration, look: Look
) -> list[Html]:
    """The inspector of an iteration; nothing where the cache plays no part."""
    usage = iteration.usage
    cached = usage.cache_read_input_tokens or usage.cache_creation_input_tokens
    if not (iteration.marks or cached):
        return []
    inspection = inspect(transcript, iteration.index)
    row = h(
        "details",
        h("summary", line_fragments(inspection)),
        inspection_fragments(inspection, is_lasting=is_lasting(transcript, look)),
        _python(inspection, look) if look.live else None,
        class_="nbr-request nbr-cache",
        data_key=cache_key(iteration.index) if look.live else None,
    )
    advice = words.hint(inspection)
    return [row, h("div", advice, class_="nbr-hinted")] if advice else [row]


def line_fragments(inspection: Inspection) -> Html:
    """What the inspector says when it is closed."""
    label, tokens = words.label(inspection), words.tokens_words(inspection)
    fact = tokens or count(len(inspection.breakpoints), "mark")
    return spaced(
        h("span", f"cache · {fact}"),
        chip(label, _tone(inspection)) if label else None,
    )


def _tone(inspection: Inspection) -> str:
    is_bad = inspection.is_miss or inspection.verdict == "partly"
    return "warn" if is_bad else ""


def _python(inspection: Inspection, look: Look) -> Html:
    line = f"{look.name}.inspect(at={inspection.index})"
    return h("div", h("code", line, class_="nbr-py"), class_="nbr-foot")


def missed_chip(transcript: Transcript, index: int) -> Html | None:
    """What the line of an iteration says of a read that was missed."""
    verdict = missed(transcript, index)
    if verdict is None:
        return None
    said = "cache missed" if verdict == "missed" else "cache read in part"
    return chip(said, "warn")


def inspection_fragments(inspection: Inspection, *, is_lasting: bool) -> list[Child]:
    """What the inspector shows when it is open.

    Args:
        inspection: What was found.
        is_lasting: Whether the page has to read the same whenever it is made again.
    """
    difference = inspection.difference
    parts: list[Child] = [
        _strip(inspection),
        [h("div", words.mark_words(p)) for p in inspection.breakpoints],
        h("div", words.sentence(inspection), class_="nbr-verdict"),
    ]
    if difference is not None:
        before, after = difference.before, difference.after
        if is_lasting:
            before, after = without_ids(before), without_ids(after)
        parts.append(label_line(words.difference_words(inspection)))
        parts.append(diff_fragment(before, after))
    parts.append(label_line(words.rules_words(inspection)))
    return parts


class _Stretch(NamedTuple):
    """Blocks of the request between two marks.

    Attributes:
        is_kept: Whether a mark covers it.
        parts: Whether the first difference lies in it.
    """

    text: str
    is_kept: bool
    parts: bool


def _strip(inspection: Inspection) -> Html:
    """The request as one row, in the order the API reads, with its marks."""
    row: list[Child] = []
    at = (0, 0, 0)
    for point in inspection.breakpoints:
        here = (point.tools, point.system, point.messages)
        row += [_stretch(it) for it in _stretches(inspection, at, here, is_kept=True)]
        row.append(_mark(point))
        at = (*here[:2], point.messages - point.is_inside)
    end = (inspection.tools, inspection.system, inspection.messages)
    row += [_stretch(it) for it in _stretches(inspection, at, end, is_kept=False)]
    return h("div", spaced(row), class_="nbr-strip")


def _stretches(
    inspection: Inspection,
    start: tuple[int, int, int],
    end: tuple[int, int, int],
    *,
    is_kept: bool,
) -> list[_Stretch]:
    difference = inspection.difference
    layer, number = difference.stands if difference else ("", 0)
    found = []
    layers = ("tools", "system", "messages")
    for name, first, last in zip(layers, start, end, strict=True):
        if last <= first:
            continue
        text = {
            "tools": words.span("tool", first + 1, last),
            "system": "system prompt",
            "messages": words.span("message", first + 1, last),
        }[name]
        parts = layer == name and first <= number < last
        found.append(_Stretch(text, is_kept, parts))
    return found


def _stretch(stretch: _Stretch) -> Html:
    kept = " nbr-kept" if stretch.is_kept else ""
    differs = h("b", "≠", title="the first difference") if stretch.parts else None
    return h("span", spaced(stretch.text, differs), class_=f"nbr-stretch{kept}")


def _mark(point: Breakpoint) -> Html:
    return h(
        "span",
        f"▲ {words.lifetime(point.ttl)}",
        class_="nbr-breakpoint",
        title=f"cache mark on {point.on}",
    )


def cache_line(transcript: Transcript, iteration: Iteration) -> str | None:
    """The inspector in one line of text, where a read was missed or nothing kept."""
    if not iteration.marks or iteration.reply is None:
        return None
    inspection = inspect(transcript, iteration.index)
    if inspection.verdict not in ("missed", "partly", "uncached"):
        return None
    said = [words.sentence(inspection), words.hint(inspection)]
    return f"cache: {' '.join(filter(None, said))}"


def inspection_text(inspection: Inspection) -> str:
    """The whole inspection as text, redacted."""
    facts = [
        f"cache of request {inspection.index + 1}",
        words.label(inspection),
        words.tokens_words(inspection),
    ]
    lines = [" · ".join(fact for fact in facts if fact)]
    lines += [f"  mark on {words.mark_words(p)}" for p in inspection.breakpoints]
    lines += [f"  {words.sentence(inspection)}"]
    said = words.difference_words(inspection)
    if said and inspection.difference is not None:
        texts = shown_texts(inspection.difference.before, inspection.difference.after)
        lines += [f"  {said}"]
        lines += [f"    {line.sign} {line.text}" for line in diff_lines(*texts)]
    more = (words.hint(inspection), words.rules_words(inspection))
    lines += [f"  {it}" for it in more if it]
    return printable("\n".join(lines))
