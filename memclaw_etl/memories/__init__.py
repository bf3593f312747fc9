"""Memories: resolve items into memories, embed, publish to the index and recall. No network."""
