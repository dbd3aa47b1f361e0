from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser.scenes import Scene

if TYPE_CHECKING:
    from tests.browser.lab import Lab

LINES = '"\\n\\n".join(f"Line {n} of many, to be read." for n in range(60))'
SELECT = """root => {
  const [text] = root.querySelector("[data-key='it0.block0']").childNodes;
  getSelection().setBaseAndExtent(text, 0, text, 12);
}"""
SELECTED = "getSelection().toString()"


def test_a_selection_outlives_what_streams_in_behind_it(lab: Lab) -> None:
    reply = f"[say({LINES}), use('get_forecast', city='Paris', days=1)], 'Done.'"
    holds = {(1, 6): "some", (1, 40): "more", (1, 60): "last"}
    with Scene(lab, "selected", reply, holds=holds) as it:
        it.panel.wait_text("Line 0 of many")
        it.root.evaluate(SELECT)
        chosen = it.notebook.page.evaluate(SELECTED)
        assert len(chosen) == 12
        it.opens("some")
        it.panel.wait_text("Line 10 of many")
        assert it.notebook.page.evaluate(SELECTED) == chosen
        it.opens("more")
        it.panel.wait_text("Line 15 of many")
        assert it.notebook.page.evaluate(SELECTED) == chosen
        it.opens("last")
        it.ends()


def test_the_page_stays_where_it_is_read(lab: Lab) -> None:
    replies = f"[say({LINES}), use('get_weather', location='Paris')], 'Done.'"
    with Scene(lab, "stays", replies, holds={(2, 0): "last"}) as it:
        it.panel.wait_text("asking the station of Paris")
        line = it.root.locator("p").filter(has_text="Line 30 of many")
        line.scroll_into_view_if_needed()
        line.hover()
        before = line.bounding_box()
        it.opens("weather")
        it.panel.wait_status("running, iteration 2")
        it.panel.wait_text("waiting for the first words")
        assert line.is_visible()
        assert line.bounding_box() == before
        it.opens("last")
        it.ends()


def test_what_someone_is_at_does_not_close_by_itself(lab: Lab) -> None:
    use = "use('get_forecast', city='Paris', days=1)"
    replies = f"['First words', {use}], ['Second words', {use}], 'Three.'"
    holds = {(1, 5): "some", (2, 5): "more", (3, 0): "last"}
    with Scene(lab, "at", replies, holds=holds) as it:
        rows = it.root.locator(".nbr-it")
        it.panel.wait_text("First words")
        rows.nth(0).locator("summary").first.focus()
        it.notebook.page.mouse.move(0, 0)
        it.opens("some")
        it.panel.wait_text("Second words")
        it.opens("more")
        it.panel.wait_status("running, iteration 3")
        opened = "rows => rows.map((row) => row.open)"
        assert rows.evaluate_all(opened) == [True, False, True]
        it.opens("last")
        it.ends()


def test_two_views_of_one_panel_show_the_same_and_keep_their_own(lab: Lab) -> None:
    use = "use('get_forecast', city='Paris', days=1)"
    replies = f"['First words', {use}], ['Second words', {use}], 'Three.'"
    holds = {(1, 0): "some", (2, 0): "more", (3, 0): "last"}
    with Scene(lab, "twice", replies, holds=holds) as it:
        it.panel.wait_status("running, iteration 1")
        it.notebook.page.evaluate(
            "jupyterapp.commands.execute('notebook:create-output-view')"
        )
        views = it.notebook.page.locator(".nbr-live")
        views.nth(1).wait_for()
        first, second = views.nth(0), views.nth(1)
        second.get_by_role("textbox").fill("half a thought")
        for gate, words in (("some", "First words"), ("more", "Second words")):
            it.opens(gate)
            for view in (first, second):
                view.get_by_text(words).first.wait_for()
        first.locator(".nbr-it > summary").first.click()
        assert first.locator(".nbr-it").first.get_attribute("open") is not None
        assert second.locator(".nbr-it").first.get_attribute("open") is None
        second.get_by_role("button", name="Pause").click()
        first.get_by_text("pausing before the next request").wait_for()
        first.get_by_role("button", name="Go on").click()
        second.get_by_text("running, iteration 3").wait_for()
        assert second.get_by_role("textbox").input_value() == "half a thought"
        it.opens("last")
        it.ends()
