"""The loop: one SDK runner per iteration, a gate around each tool, one inbox.

It knows no notebook and no view. What it needs from above it is given: listeners
for its events, a client, and a way to name the code frames of a person.
"""
