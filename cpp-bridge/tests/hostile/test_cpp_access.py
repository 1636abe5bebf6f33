"""Who may touch a cell, and when, with the hostile types of C++: where they are built, the tests of
tests/python/test_access.py are about them."""

from test_access import *
