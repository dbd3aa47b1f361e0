"""Immutable values and pure functions: no I/O, no threads, no clock.

Everything that the other packages say to each other is a value from here: a
`Request` goes out, `Event`s come back, and all events of a run fold into its
`Transcript`.
"""
