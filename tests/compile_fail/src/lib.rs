//! Nothing here: this package is its tests.
