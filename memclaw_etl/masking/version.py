"""The version of the rules, pinned to them.

`tests/unit/test_masker_version.py` fails when a module of this package changes and its pin does
not: raise `MASKER_VERSION` whenever any text could be masked otherwise, then write the new pin.
"""

MASKER_VERSION = "2"
"""Every stored text carries it; `remask` and `audit` find by it what older rules masked."""

RULES_SHA256 = "8a721048702f31b3e8d9c13e2fb6cce3af237cfb879a2b8b88176a6f08becda8"
"""Over the names and bytes of all other modules of this package, in the order of their names."""
