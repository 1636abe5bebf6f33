//! The casts that a client gave, and the routes that they open to the other types of NumPy.

use crate::{
    abi::{self, Cast, CastLevel},
    dtype::{
        casts::{
            numbers::{self, Family, Number, Wide},
            table::{Client, Route},
        },
        handle::{DType, OperandType, registry},
    },
    erased::ElementType,
    numpy_abi::flags::*,
};
use pyo3::{exceptions::PyValueError, prelude::*};
use std::ptr;

/// Level and route of a cast, and the complex type of whose real parts it is.
type Way = (CastLevel, Route, Option<&'static Number>);

/// What the client gave, sorted.
pub(super) struct Routes {
    name: String,
    /// By number type and direction (`true`: to our type).
    numbers: Vec<(&'static Number, bool, CastLevel, Client)>,
    pub elements: Vec<(&'static DType, bool, CastLevel, Client)>,
}

impl Routes {
    /// Reads the client's list.
    ///
    /// # Errors
    /// As for [`CastPlan::new`].
    pub fn read(element: &ElementType, list: &[Cast]) -> PyResult<Routes> {
        let mut routes =
            Routes { name: element.name().to_owned(), numbers: Vec::new(), elements: Vec::new() };
        for cast in list {
            let to_self = cast.to.kind == abi::OPERAND_SELF;
            let other = if to_self { cast.from } else { cast.to };
            let own = if to_self { cast.to } else { cast.from };
            if own.kind != abi::OPERAND_SELF || other.kind == abi::OPERAND_SELF {
                return Err(routes.refuse("a cast has the type itself at exactly one end"));
            }
            if !(abi::CAST_SAFE..=abi::CAST_UNSAFE).contains(&cast.level) {
                return Err(routes.refuse(&format!("{} is no casting level", cast.level)));
            }
            let client = Client { function: cast.function, context: cast.context };
            let twice = match other_type(element, &other)? {
                OperandType::Element(dtype) => {
                    let taken = routes.elements.iter().any(|(known, direction, ..)| {
                        ptr::eq(*known, dtype) && *direction == to_self
                    });
                    routes.elements.push((dtype, to_self, cast.level, client));
                    taken
                }
                OperandType::Numpy(type_number) => {
                    let number = numbers::number(type_number).ok_or_else(|| {
                        routes.refuse(&format!(
                            "a cast with NumPy's type number {type_number}, which is no number"
                        ))
                    })?;
                    let taken = routes.numbers.iter().any(|(known, direction, ..)| {
                        known.type_number == number.type_number && *direction == to_self
                    });
                    routes.numbers.push((number, to_self, cast.level, client));
                    taken
                }
            };
            if twice {
                return Err(routes.refuse("a cast is given twice"));
            }
        }
        Ok(routes)
    }

    fn refuse(&self, why: &str) -> PyErr {
        PyValueError::new_err(format!("{}: {why}", self.name))
    }

    /// The client's cast with that very type, else with one of the same bytes.
    fn exact(&self, number: &Number, to_self: bool) -> Option<(CastLevel, Client)> {
        let same = |wanted: &dyn Fn(&Number) -> bool| {
            self.numbers
                .iter()
                .find(|(known, direction, ..)| *direction == to_self && wanted(known))
                .map(|&(_, _, level, client)| (level, client))
        };
        same(&|known| known == number).or_else(|| same(&|known| known.is_same_as(number)))
    }

    /// The client's cast with one of the three wide types.
    fn wide(&self, wide: Wide, to_self: bool) -> Option<(CastLevel, Client)> {
        let type_number = match wide {
            Wide::I64 => NPY_LONG,
            Wide::U64 => NPY_ULONG,
            Wide::F64 => NPY_DOUBLE,
        };
        self.exact(numbers::number(type_number)?, to_self)
    }

    /// The first of the ways that the client's casts allow.
    fn through(
        &self,
        to_self: bool,
        ways: &[(Wide, CastLevel)],
    ) -> Option<(CastLevel, Wide, Client)> {
        ways.iter().find_map(|&(wide, least)| {
            let (level, client) = self.wide(wide, to_self)?;
            Some((level.max(least), wide, client))
        })
    }

    /// How values of a number type become elements.
    pub fn towards_self(&self, number: &'static Number) -> Option<Way> {
        if let Some((level, client)) = self.exact(number, true) {
            return Some((level, Route::Direct(client), None));
        }
        if let Some(part) = number.part() {
            let (level, route, _) = self.towards_self(part)?;
            return Some((level.max(abi::CAST_UNSAFE), route, Some(number)));
        }
        use Wide::{F64, I64, U64};
        const ANY: CastLevel = abi::CAST_SAFE;
        const SAME_KIND: CastLevel = abi::CAST_SAME_KIND;
        const UNSAFE: CastLevel = abi::CAST_UNSAFE;
        let ways: &[(Wide, CastLevel)] = match (number.family, number.size) {
            (Family::Bool, _) => &[(I64, ANY), (U64, ANY), (F64, ANY)],
            (Family::Signed, 8) => &[(U64, SAME_KIND), (F64, SAME_KIND)],
            (Family::Signed, _) => &[(I64, ANY), (F64, ANY), (U64, SAME_KIND)],
            (Family::Unsigned, 8) => &[(I64, SAME_KIND), (F64, SAME_KIND)],
            (Family::Unsigned, _) => &[(I64, ANY), (U64, ANY), (F64, ANY)],
            (Family::Float, 2 | 4) => &[(F64, ANY)],
            (Family::Float, 16) => &[(F64, UNSAFE)],
            _ => &[],
        };
        let (level, wide, client) = self.through(true, ways)?;
        Some((level, Route::Widened(number, wide, client), None))
    }

    /// How elements become values of a number type.
    pub fn away_from_self(&self, element: &ElementType, number: &'static Number) -> Option<Way> {
        if let Some((level, client)) = self.exact(number, false) {
            return Some((level, Route::Direct(client), None));
        }
        if let Some(part) = number.part() {
            let (level, route, _) = self.away_from_self(element, part)?;
            return Some((level, route, Some(number)));
        }
        use Wide::{F64, I64, U64};
        const ANY: CastLevel = abi::CAST_SAFE;
        const SAME_KIND: CastLevel = abi::CAST_SAME_KIND;
        const UNSAFE: CastLevel = abi::CAST_UNSAFE;
        let ways: &[(Wide, CastLevel)] = match (number.family, number.size) {
            (Family::Bool, _) => {
                element.vtable().nonzero?;
                return Some((UNSAFE, Route::Truth, None));
            }
            (Family::Signed, _) => &[(I64, SAME_KIND), (U64, SAME_KIND), (F64, UNSAFE)],
            (Family::Unsigned, _) => &[(U64, SAME_KIND), (I64, UNSAFE), (F64, UNSAFE)],
            (Family::Float, 16) => &[(F64, ANY)],
            (Family::Float, _) => &[(F64, SAME_KIND)],
            (Family::Complex, _) => &[],
        };
        let (level, wide, client) = self.through(false, ways)?;
        Some((level, Route::Narrowed(number, wide, client), None))
    }
}

/// The type at the other end of a cast.
fn other_type(element: &ElementType, other: &abi::Operand) -> PyResult<OperandType> {
    if other.kind == abi::OPERAND_NUMPY {
        return Ok(OperandType::Numpy(other.numpy_type));
    }
    registry::dtype_of(other.element).map(OperandType::Element).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{}: a cast is with an element type that is not registered",
            element.name()
        ))
    })
}
