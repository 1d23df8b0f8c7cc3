"""Settings for every test."""

import os

from hypothesis import settings

# A busy machine is no reason for a test to fail, nor to take ten times as long: as the command, before torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
settings.register_profile("calipers", deadline=None)
settings.load_profile("calipers")
