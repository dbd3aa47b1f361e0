"""Renderings of a transcript: the same fragments live, static and exported.

Views read values and make text. Secrets are redacted here, at the exit, and markup
is escaped in one place (`views.html`); nothing a model, a tool or a page said can
become markup, script or a formula.
"""
