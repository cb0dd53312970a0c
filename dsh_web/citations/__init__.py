"""Citations: markers in an answer become records; records are rendered, numbered and checked.

Everything here is pure: text and records in, records or text out.
"""

from .numbers import numbers_by_url

__all__ = ["numbers_by_url"]
