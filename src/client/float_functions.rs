//! Ufuncs that NumPy's own loops compute, from the type's values as floats.

use super::builder::ElementBuilder;
use super::scalar::OperandType;
use super::storage::StorageChoice;
use crate::abi::Operand;

/// Functions of one float.
const UNARY: [&str; 28] = [
    "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
    "deg2rad", "rad2deg", "degrees", "radians", "fabs", "spacing", "modf",
];

/// Functions of two floats.
const BINARY: [&str; 8] = [
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "copysign",
    "nextafter",
    "heaviside",
    "float_power",
];

impl<T: 'static, S: StorageChoice<T>> ElementBuilder<T, S> {
    /// The functions that NumPy computes of integers as `float64`: roots, exponentials, logarithms,
    /// trigonometric and hyperbolic functions, `arctan2`, `hypot`, `logaddexp`, `float_power`,
    /// `fabs`, `copysign`, `nextafter`, `spacing`, `heaviside`, `modf`, `frexp` and `ldexp`, by
    /// NumPy's own loops. The results are `float64` (beside a `longdouble` or complex operand, or
    /// with `dtype=`, what NumPy has for those), rounded twice: once when a value becomes a float.
    ///
    /// Only for types that are numbers and nothing more: a dual number would lose its
    /// derivative. Needs a cast to `f64`, safe or within the kind, as in
    /// `.cast_to(Casting::SameKind, |x: &T| x.to_f64())`; [`cast`](Self::cast) alone makes an unsafe
    /// one. Its error is raised where a value has no float. A loop of the type's own for one of these ufuncs comes before.
    pub fn float_functions(self) -> ElementBuilder<T, S::Decided> {
        let float = OperandType::numpy::<f64>();
        let (exponent, power) = (OperandType::numpy::<i32>(), OperandType::numpy::<i64>());
        let mut this = self.decided();
        for name in UNARY {
            let outputs = if name == "modf" { &[float, float][..] } else { &[float] };
            this.push_numpy_loop(name, &[float], outputs);
        }
        for name in BINARY {
            this.push_numpy_loop(name, &[float, float], &[float]);
        }
        this.push_numpy_loop("frexp", &[float], &[float, exponent]);
        this.push_numpy_loop("ldexp", &[float, power], &[float]);
        this
    }

    /// A ufunc for which operands of the type become numbers of NumPy, whose own loop for these
    /// numbers is taken. At least one input must be of a type to which the type casts, safe or
    /// within the kind. Floats among the operands stand for wider floats and complex numbers as
    /// well, where an operand is one or `dtype=` asks for one.
    pub fn numpy_loop(
        self,
        ufunc: &str,
        inputs: &[OperandType],
        outputs: &[OperandType],
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.push_numpy_loop(ufunc, inputs, outputs);
        this
    }

    fn push_numpy_loop(&mut self, ufunc: &str, inputs: &[OperandType], outputs: &[OperandType]) {
        let operands: Vec<Operand> =
            inputs.iter().chain(outputs).map(|operand| operand.operand()).collect();
        self.push_entry(ufunc, &operands, inputs.len(), None, std::ptr::null_mut());
    }
}
