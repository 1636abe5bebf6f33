"""Operations of NumPy's, one module a section; each has its `TABLE`."""
