"""Turns AI agents' append-only trails into typed, governed, recallable memories."""
