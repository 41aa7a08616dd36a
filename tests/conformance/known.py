"""Programs of the corpus that show a fault of the compiler which is not mended yet: name, and what is wrong.

They are expected to fail, strictly: whoever mends one takes it out of this list.
"""

_SIGNATURES = "the signature of a module is read, but not enforced"

KNOWN: dict[str, str] = {
    "rejected/modules/abstract_type": _SIGNATURES,
    "rejected/modules/hidden_member": _SIGNATURES,
    "rejected/modules/member_missing": _SIGNATURES,
    "rejected/modules/member_type": _SIGNATURES,
}
