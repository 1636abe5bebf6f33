//! Casts between an element type and the types of NumPy and of other clients.
//!
//! Where the client gave a cast for exactly a type, that one runs. The others are made from the
//! client's casts of `int64`, `uint64` and `float64` ([`numbers`]), at these levels
//! (`L` is the level of the client's cast, `>=` means no better than):
//!
//! | from | through | level | | to | through | level |
//! |---|---|---|---|---|---|---|
//! | bool | int64, uint64 or float64 | `L` | | bool | the type's truth | unsafe |
//! | narrower integers | int64; else uint64, float64 | `L` (changing sign: `>=` same kind) | | narrower integers | the same sign's 64 bits | `>=` same kind |
//! | 64-bit integers | the other sign, float64 | `>=` same kind | | unsigned integers | int64 | unsafe |
//! | | | | | integers | float64 | unsafe |
//! | float16, float32 | float64 | `L` | | float16, float32 | float64 | `>=` same kind |
//! | longdouble | float64, where exact | unsafe | | longdouble | float64 | `L` |
//! | complex, where real | the float of its parts | unsafe | | complex | the float of its parts | its |
//! | text, StringDType | the type's reading of text | unsafe | | text without a size, StringDType | the type's text | safe |
//! | | | | | text of a size | the type's text | same kind |
//!
//! That is what NumPy says of `int64`, `uint64` and `float64` themselves, except that a value
//! that does not fit is an error here, not another value.
//!
//! * [`table`]: all casts; [`specs`]: those of a type that is being registered;
//! * [`routes`]: the client's casts, and which route each other one takes;
//! * [`run`]: a cast at work; [`numbers`] that of numbers, in blocks; [`text`] that of text, which
//!   [`text_form`] reads and writes;
//! * [`objects`]: Python's numbers; NumPy casts all other objects through getitem and setitem;
//! * [`within_dtype`]: from a type to itself;
//! * [`common`]: the type in which two types meet.

pub mod common;
pub mod numbers;
pub mod objects;
mod routes;
mod run;
pub mod specs;
pub mod table;
mod text;
mod text_form;
pub mod within_dtype;
