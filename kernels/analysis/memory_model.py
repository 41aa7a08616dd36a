"""The memory of a GPU as accesses see it: sectors of global memory, banks of shared memory."""

from __future__ import annotations

from collections import Counter

SECTOR = 32  # bytes
BANKS, WORD = 32, 4  # banks of shared memory, bytes of a word of them


def fullest_bank(words: set[int]) -> int:
    """How many turns a request takes: the words of the bank that has most of them, where word w is in bank w mod 32."""
    return max(Counter(word % BANKS for word in words).values())
