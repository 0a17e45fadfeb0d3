"""A plug-in of one's own, written from templates: what ``zoo new`` makes."""

from __future__ import annotations

from zoo.registry.scaffold.plugin import NewPlugin, write_plugin

__all__ = ["NewPlugin", "write_plugin"]
