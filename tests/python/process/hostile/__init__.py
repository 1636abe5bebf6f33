"""Attacks on arrays whose elements call back into Python: see `__main__` for how they are run.

An attack arms one hook of an element type (its clone, its destructor, its comparison, ..) with one
piece of Python that uses the array at hand, and runs one operation of NumPy's on it. The operation
may work or raise; objects may not change under a hook, get lost or die twice.
"""
