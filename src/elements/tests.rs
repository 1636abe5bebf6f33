//! The descriptions of the bundled types: what the runtime will be told.

use super::{integer, rational};
use crate::abi::{ERROR_MEMORY, ErrorOut, FAILED, OK, STORAGE_INLINE, ZERO_DEFAULT};
use crate::client::{Definition, ElementBuilder, InlineDefault, element};
use crate::elements::{Integer, Rational, boxed};
use std::collections::HashSet;
use std::ffi::CStr;

fn define<T>(builder: ElementBuilder<T, InlineDefault>) -> Definition<T> {
    builder.define("denizen").unwrap()
}

/// Names and operand types of all loops.
fn loops<T>(definition: &Definition<T>) -> Vec<(String, Vec<(u32, i32)>)> {
    let loops = definition.loops().iter().map(|entry| {
        let count = (entry.input_count + entry.output_count) as usize;
        // SAFETY: the definition is alive, and what it points to with it.
        unsafe {
            let operands = std::slice::from_raw_parts(entry.operands, count);
            let name = CStr::from_ptr(entry.ufunc).to_str().unwrap().to_owned();
            (name, operands.iter().map(|operand| (operand.kind, operand.numpy_type)).collect())
        }
    });
    loops.collect()
}

#[test]
fn every_loop_is_registered_once() {
    for (loops, least) in
        [(loops(&define(integer::describe())), 50), (loops(&define(rational::describe())), 40)]
    {
        let distinct: HashSet<_> = loops.iter().collect();
        assert_eq!(distinct.len(), loops.len());
        assert!(loops.len() >= least, "{}", loops.len());
    }
}

#[test]
fn cells_are_one_and_two_words_and_zero_is_the_default() {
    let (integer, rational) = (define(integer::describe()), define(rational::describe()));
    for (vtable, size) in [(integer.vtable(), 8), (rational.vtable(), 16)] {
        assert_eq!((vtable.size, vtable.align), (size, 8));
        assert_eq!((vtable.storage, vtable.zero_bytes), (STORAGE_INLINE, ZERO_DEFAULT));
    }
}

#[test]
fn copies_moves_and_ends_are_balanced() {
    let before = boxed::live();
    let big = Integer::ONE.shift_left(&Integer::from(200)).unwrap();
    let definition = define(integer::describe());
    let vtable = definition.vtable();
    let (copy, assign, destroy) =
        (vtable.copy_construct.unwrap(), vtable.assign.unwrap(), vtable.destroy.unwrap());
    let mut source: Vec<Integer> = (0..6).map(Integer::from).collect();
    source[2] = big.clone();
    source[4] = big.neg();
    let mut cells = vec![0u64; 6];
    let cells_pointer: *mut u8 = cells.as_mut_ptr().cast();
    let mut error_out = ErrorOut::new();
    // SAFETY: six cells each; vacant ones are constructed, live ones assigned, then destroyed.
    unsafe {
        let context = vtable.context;
        let from = source.as_ptr().cast();
        assert_eq!(copy(context, cells_pointer, 8, from, 8, 6, &raw mut error_out), OK);
        assert_eq!(boxed::live() - before, 5);
        // In reverse: big over small, small over big, big over big.
        let last = source.as_ptr().add(5).cast();
        assert_eq!(assign(context, cells_pointer, 8, last, -8, 6, &raw mut error_out), OK);
        assert_eq!(boxed::live() - before, 5);
        assert_eq!(*cells_pointer.cast::<Integer>().add(1), big.neg());
        assert_eq!(destroy(context, cells_pointer, 8, 6, &raw mut error_out), OK);
    }
    drop((source, big));
    assert_eq!(boxed::live(), before);
}

#[test]
fn heap_bytes_grow_with_the_value() {
    assert_eq!(Integer::from(7).heap_bytes(), 0);
    let big = Integer::ONE.shift_left(&Integer::from(1000)).unwrap();
    assert!((1000 / 8..300).contains(&big.heap_bytes()), "{}", big.heap_bytes());
    assert_eq!(Rational::from(7).heap_bytes(), 0);
    assert!(Rational::from(&big).heap_bytes() > 1000 / 8);
}

#[test]
fn running_out_of_memory_is_a_memory_error() {
    let builder = element::<Integer>("Integer");
    // SAFETY: a word of zeros is the value 0, which owns nothing.
    let builder = unsafe { builder.zero_is_default() };
    let definition = define(builder.default().unary("square", |_| -> Integer {
        // As dashu and the heap cells do where an allocation fails.
        panic!("out of memory")
    }));
    let entry = definition.loops()[0];
    let function = entry.function.expect("a loop with a function");
    let mut cell = Integer::ZERO;
    let pointer: *mut u8 = (&raw mut cell).cast();
    let mut error_out = ErrorOut::new();
    // SAFETY: one element, which is input and output.
    let status = unsafe {
        function(
            entry.context,
            [pointer, pointer].as_ptr(),
            [1isize].as_ptr(),
            [8isize, 8].as_ptr(),
            &raw mut error_out,
        )
    };
    assert_eq!((status, error_out.kind, error_out.done), (FAILED, ERROR_MEMORY, 0));
}
