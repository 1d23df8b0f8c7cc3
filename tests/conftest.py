"""Settings for every test."""

from hypothesis import settings

# A busy machine is no reason for a test to fail.
settings.register_profile("calipers", deadline=None)
settings.load_profile("calipers")
