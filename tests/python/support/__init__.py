"""Trials for any kind of element; the modules beside the tests of each folder collect them."""
