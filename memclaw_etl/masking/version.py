"""The version of the rules, pinned to them.

`tests/unit/test_masker_version.py` fails when a module of this package changes and its pin does
not: raise `MASKER_VERSION` whenever any text could be masked otherwise, then write the new pin.
"""

MASKER_VERSION = "3"
"""Every stored text carries it; `remask` and `audit` find by it what older rules masked."""

RULES_SHA256 = "e07907a7601d99837bd35c70cdbe8af2cfa9fd8fd9355819402c3c74de053097"
"""Over the names and bytes of all other modules of this package, in the order of their names."""
