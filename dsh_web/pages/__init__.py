"""Turning the bytes of a fetched page into text: pure, one kind of content per module."""
