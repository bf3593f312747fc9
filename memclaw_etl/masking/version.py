"""The version of the rules, pinned to them.

`tests/unit/test_masker_version.py` fails when a module of this package changes and its pin does
not: raise `MASKER_VERSION` whenever any text could be masked otherwise, then write the new pin.
"""

MASKER_VERSION = "3"
"""Every stored text carries it; `remask` and `audit` find by it what older rules masked."""

RULES_SHA256 = "fa92f4b1ab1bd8560fa9d2373271dc27837e3cdefa77758f3a2f47d1fa83a347"
"""Over the names and bytes of all other modules of this package, in the order of their names."""
