"""What a run has collected, before any selection: `config.stash[COLLECTED]`."""

import pytest

COLLECTED = pytest.StashKey[list[pytest.Item]]()
