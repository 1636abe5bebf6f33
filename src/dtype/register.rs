//! From a client's spec to a DType: checks, the class, casts, loops, identities.

use crate::{
    abi::{Cast, ConstructFn, LoopFn, Operand},
    numpy_abi::NpyAuxData,
};
use std::{
    collections::HashMap,
    ffi::{CString, c_void},
};

use super::DType;

/// What is registered for a DType beside its class. Filled once, before anybody can use it.
#[derive(Default)]
pub struct Operations {
    /// Ufunc loops.
    pub loops: Vec<LoopData>,
    /// Casts, by the type at the other end and the direction.
    pub casts: Vec<CastData>,
    /// Identities of reductions, by ufunc (borrowed pointer).
    pub identities: HashMap<usize, IdentityData>,
}

/// The type of one operand, resolved.
#[derive(Clone, Copy)]
pub enum OperandType {
    /// An element type: the one being registered or another.
    Element(&'static DType),
    /// A built-in type, by NumPy's type number.
    Numpy(i32),
}

/// One loop of one ufunc; NumPy hands it back to the loop as auxiliary data.
#[repr(C)]
pub struct LoopData {
    /// NumPy's head: `free` does nothing, `clone` returns the same.
    pub head: NpyAuxData,
    /// The ufunc, borrowed: NumPy's ufuncs live forever.
    pub ufunc: usize,
    /// Its name, for messages.
    pub name: CString,
    /// Inputs, then outputs.
    pub operands: Vec<OperandType>,
    /// How many inputs.
    pub input_count: usize,
    /// The client's loop.
    pub function: LoopFn,
    /// Handed to it.
    pub context: *mut c_void,
}

/// One cast.
pub struct CastData {
    /// The client's description.
    pub cast: Cast,
    /// The operand at the other end.
    pub other: Operand,
    /// Whether it casts to our type.
    pub to_self: bool,
}

/// The identity of one ufunc.
pub struct IdentityData {
    /// Builds the value in a vacant cell.
    pub construct: ConstructFn,
    /// Handed to it.
    pub context: *mut c_void,
}
