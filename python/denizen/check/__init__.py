"""`denizen check`: NumPy's operations on any registered element type, judged one by one."""
