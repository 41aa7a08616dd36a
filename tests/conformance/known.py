"""Programs of the corpus that show a fault of the compiler which is not mended yet: name, and what is wrong.

They are expected to fail, strictly: whoever mends one takes it out of this list.
"""

KNOWN: dict[str, str] = {}
