"""The fixtures tests of the server have."""

from browsing import browse, chromium
from serving import serve

__all__ = ["browse", "chromium", "serve"]
