"""Citations: markers in an answer become records; records are rendered, numbered and checked.

Everything here is pure: text and records in, records or text out.
"""
