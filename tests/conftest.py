"""For all tests: hypothesis watches no clock, since a busy machine is not a wrong program."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
