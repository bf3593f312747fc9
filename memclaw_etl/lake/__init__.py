"""Storage: ledger, stage files, memory index. The only package that knows how data is kept."""
