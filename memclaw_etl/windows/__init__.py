"""Windows: planned purely, pinned once in the ledger, shown as partitions."""
