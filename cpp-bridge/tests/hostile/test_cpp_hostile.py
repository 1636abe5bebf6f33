"""A sample of the attacks of tests/python/hostile by the types of C++."""

from test_hostile import *
