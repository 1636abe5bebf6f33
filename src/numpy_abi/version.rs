//! NumPy's version number.

use std::fmt;

/// A NumPy release. Pre-release and local suffixes are dropped: `2.6.0.dev0+git` is 2.6.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NumpyVersion {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number, 0 where there is none.
    pub patch: u32,
}

impl NumpyVersion {
    /// The oldest NumPy that these bindings fit: sort loops, `get_constant` and the long
    /// `PyArrayMethod_Context` came with it, and the `PyArray_ArrFuncs` slots moved.
    pub const OLDEST: Self = Self::new(2, 4, 0);

    /// The version `major.minor.patch`.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Reads `numpy.__version__`: `2.4.6`, `2.5`, `2.5.0rc1`, `2.6.0.dev0+git20260801`. `None`
    /// where it does not start with two numbers.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().splitn(3, '.');
        let major = parts.next()?.parse().ok()?;
        let minor = leading_number(parts.next()?)?;
        let patch = parts.next().and_then(leading_number).unwrap_or(0);
        Some(Self { major, minor, patch })
    }
}

/// The digits that `text` starts with, as a number.
fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

impl fmt::Display for NumpyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_with_their_suffixes_dropped() {
        for (text, version) in [
            ("2.4.6", (2, 4, 6)),
            ("2.10.0", (2, 10, 0)),
            ("2.5", (2, 5, 0)),
            ("2.5rc1", (2, 5, 0)),
            ("2.5.0rc1", (2, 5, 0)),
            ("2.6.0.dev0+git20260801.abc1234", (2, 6, 0)),
            ("2.6.3+local", (2, 6, 3)),
        ] {
            let (major, minor, patch) = version;
            assert_eq!(
                NumpyVersion::parse(text),
                Some(NumpyVersion::new(major, minor, patch)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "2", "two.four", "2.x", "unknown"] {
            assert_eq!(NumpyVersion::parse(text), None, "{text}");
        }
    }

    #[test]
    fn versions_are_ordered_by_number_not_by_text() {
        assert!(NumpyVersion::new(2, 10, 0) > NumpyVersion::OLDEST);
        assert!(NumpyVersion::new(2, 3, 9) < NumpyVersion::OLDEST);
    }
}
