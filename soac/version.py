"""The version of this package; CONTRIBUTING.md says when which part of it grows."""

from __future__ import annotations

__version__ = "0.1.0"
