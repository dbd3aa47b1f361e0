"""How much a front-end message may hold of anything."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

LONGEST_MESSAGE = 200_000
"""Characters of one message from the box; the API's own limit is far above it."""

LONGEST_KEY = 500
"""Characters of the key of a part; a call's id is most of it."""

FieldName: TypeAlias = Annotated[str, Field(max_length=40)]
FieldText: TypeAlias = Annotated[str, Field(max_length=LONGEST_MESSAGE)]
