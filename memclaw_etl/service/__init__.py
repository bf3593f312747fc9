"""The one service layer: command line, Dagster assets and servers are thin adapters over it."""
