"""Writes a new plug-in from templates: the work of ``zoo new``."""

from __future__ import annotations

from zoo.registry.scaffold.plugin import NewPlugin, write_plugin

__all__ = ["NewPlugin", "write_plugin"]
