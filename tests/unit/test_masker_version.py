import hashlib
from pathlib import Path

from memclaw_etl import masking
from memclaw_etl.masking.version import MASKER_VERSION, RULES_SHA256


def rules_digest() -> str:
    digest = hashlib.sha256()
    folder = Path(masking.__file__).parent
    for module in sorted(folder.glob("*.py")):
        if module.name != "version.py":
            digest.update(f"{module.name}\n".encode() + module.read_bytes())
    return digest.hexdigest()


def test_the_rules_are_those_of_the_version():
    assert rules_digest() == RULES_SHA256, (
        f"the masking rules changed: if any text could now be masked otherwise, raise"
        f" MASKER_VERSION (it is {MASKER_VERSION!r}); then set RULES_SHA256 = {rules_digest()!r}"
    )
