"""Settings for every test."""

import os

from hypothesis import settings

# A busy machine is no reason for a test to fail, nor to take ten times as long: as the command, before torch is loaded.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
settings.register_profile("calipers", deadline=None)
settings.load_profile("calipers")
