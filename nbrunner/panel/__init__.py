"""The live panel: one anywidget that shows a run and reports clicks."""

from nbrunner.panel.widget import Panel

__all__ = ["Panel"]
