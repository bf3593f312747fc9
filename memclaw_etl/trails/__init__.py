"""Bytes to events: line splitting, one module per trail kind, discovery."""
