"""The checked element type, and the arrays of it that an operation works on."""

from .element import Element, ElementError
from .subject import Subject

__all__ = ["Element", "ElementError", "Subject"]
