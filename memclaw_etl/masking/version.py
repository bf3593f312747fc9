"""The version of the rules, pinned to them.

`tests/unit/test_masker_version.py` fails when a module of this package changes and its pin does
not: raise `MASKER_VERSION` whenever any text could be masked otherwise, then write the new pin.
"""

MASKER_VERSION = "2"
"""Every stored text carries it; `remask` and `audit` find by it what older rules masked."""

RULES_SHA256 = "5affed275fdf52bd081e380f1c2e9e266ba66207b62040a6f4ee5a728e842e7c"
"""Over the names and bytes of all other modules of this package, in the order of their names."""
