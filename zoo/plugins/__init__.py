"""Finding plug-ins, keeping a bad one from hurting the rest, and listing them all."""

from __future__ import annotations

from zoo.plugins.discovery import GROUP
from zoo.plugins.hooks import PluginError
from zoo.plugins.loading import DEFAULT_PLUGINS, PluginRow, Zoo, load

__all__ = ["DEFAULT_PLUGINS", "GROUP", "PluginError", "PluginRow", "Zoo", "load"]
