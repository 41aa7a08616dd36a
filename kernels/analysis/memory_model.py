"""The memory of a GPU as accesses see it: sectors of global memory, banks of shared memory."""

from __future__ import annotations

from collections import Counter

SECTOR = 32  # bytes
BANKS, WORD = 32, 4  # banks of shared memory, bytes of a word of them


def fullest_bank(words: set[int]) -> int:
    return max(Counter(word % BANKS for word in words).values())
