"""Generic classes without `typing`, whose import costs more than most of what uses it saves."""

from __future__ import annotations

__all__ = ["Generic"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Generic
else:

    class Generic:
        __slots__ = ()

        def __class_getitem__(cls, _):
            return cls
