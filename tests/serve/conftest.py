"""The fixture every test of the server has."""

from serving import serve

__all__ = ["serve"]
