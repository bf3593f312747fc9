"""The version of the rules, pinned to them.

`tests/unit/test_masker_version.py` fails when a module of this package changes and its pin does
not: raise `MASKER_VERSION` whenever any text could be masked otherwise, then write the new pin.
"""

MASKER_VERSION = "2"
"""Every stored text carries it; `remask` and `audit` find by it what older rules masked."""

RULES_SHA256 = "aa9fba5c3a3bace6feb554e2d109701e3298d98aed41a0fa9f15d5b8a684a6a1"
"""Over the names and bytes of all other modules of this package, in the order of their names."""
