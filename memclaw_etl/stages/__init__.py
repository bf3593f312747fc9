"""The stages of a window: what each asset does, without any Dagster in it."""
