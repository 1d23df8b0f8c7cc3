"""Settings for every test."""

import os
import signal

from hypothesis import settings

# A busy machine is no reason for a test to fail, nor to take ten times as long: as the command, before torch is loaded.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# Started in the background by a shell, this process ignores Ctrl-C, and so would every program that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("calipers", deadline=None)
settings.load_profile("calipers")
