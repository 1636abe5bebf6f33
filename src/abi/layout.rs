//! Where every member of the C types is, by the names of the C header: its test compares them
//! with what a C compiler makes of the header.

use super::*;
use std::mem::offset_of;

/// One row of `layout`.
pub struct LayoutRow {
    /// `denizen_type`, `denizen_type.member` or `DENIZEN_CONSTANT`.
    pub name: &'static str,
    /// Offset of a member, size of a type, or value of a constant.
    pub value: i64,
    /// Bytes of a member; alignment of a type.
    pub size: usize,
}

/// Bytes of the member that a function reads.
fn size_of_member<T, Member>(_read: fn(&T) -> &Member) -> usize {
    size_of::<Member>()
}

/// Rows of structs. The pattern without `..` has a member missing from the list refused.
macro_rules! structs {
    ($rows:ident; $($c_name:literal: $type:ident { $($member:ident),* $(,)? })*) => { $(
        $rows.push(LayoutRow {
            name: $c_name,
            value: size_of::<$type>() as i64,
            size: align_of::<$type>(),
        });
        let _ = |whole: &$type| { let $type { $($member: _),* } = whole; };
        $($rows.push(LayoutRow {
            name: concat!($c_name, ".", stringify!($member)),
            value: offset_of!($type, $member) as i64,
            size: size_of_member(|whole: &$type| &whole.$member),
        });)*
    )* };
}

macro_rules! constants {
    ($rows:ident; $($name:ident)*) => { $(
        $rows.push(LayoutRow {
            name: concat!("DENIZEN_", stringify!($name)),
            value: $name as i64,
            size: 0,
        });
    )* };
}

/// Every struct, member and constant of the interface.
pub fn layout() -> Vec<LayoutRow> {
    let mut rows = Vec::new();
    structs! { rows;
        "denizen_error": ErrorOut { struct_size, kind, done, message }
        "denizen_sink": Sink { write, context }
        "denizen_element_vtable": ElementVTable {
            struct_size, abi_version, flags, name, language_name, size, align, storage, zero_bytes,
            vacancy_offset, vacancy_size, context, construct, copy_construct, assign, relocate,
            destroy, compare, sort, argsort, nonzero, hash, heap_bytes, to_text, from_text, save,
            load, to_python, from_python, traverse, object_size, object_align,
        }
        "denizen_operand": Operand { kind, numpy_type, element }
        "denizen_loop": Loop {
            struct_size, ufunc, operands, input_count, output_count, function, context, flags,
        }
        "denizen_cast": Cast { struct_size, from, to, level, flags, function, context }
        "denizen_identity": Identity { struct_size, ufunc, construct, context }
        "denizen_element_spec": ElementSpec {
            struct_size, vtable, loops, loop_count, casts, cast_count, identities, identity_count,
            scalar_class, documentation,
        }
        "denizen_view": View {
            struct_size, data, dimension_count, shape, strides, element, array, token,
        }
        "denizen_stats": Stats {
            struct_size, live, constructed, destroyed, relocated, foreign, reconciled, lent, stale,
        }
        "denizen_api": Api {
            struct_size, abi_version, reserved, runtime_version, register_element, find_element,
            dtype, empty, adopt, view, release_view, stats, segment_of, raise,
            register_type, touch, peek, store, vacate, sweep, import_element,
        }
    }
    constants! { rows;
        ABI_VERSION OK FAILED RAISED
        ERROR_RUNTIME ERROR_VALUE ERROR_TYPE ERROR_OVERFLOW ERROR_ZERO_DIVISION ERROR_MEMORY
        ERROR_VACANT ERROR_BORROW ERROR_INDEX ERROR_NOT_IMPLEMENTED ERROR_INTEGRITY
        MESSAGE_SIZE MAX_DIMENSIONS
        ZERO_NO_PROMISE ZERO_VACANT ZERO_DEFAULT
        STORAGE_INLINE STORAGE_TAGGED STORAGE_BOXED
        ELEMENT_TRIVIALLY_RELOCATABLE ELEMENT_THREAD_SAFE ELEMENT_DESTROY_NEEDS_GIL
        OPERAND_SELF OPERAND_NUMPY OPERAND_ELEMENT
        CAST_SAFE CAST_SAME_KIND CAST_UNSAFE
        VIEW_WRITE VIEW_REFUSE_VACANT VIEW_KEEP_VACANT ADOPT_READ_ONLY
        CELL_SIZE CELL_ALIGN LENT_LIMIT STALE
    }
    rows
}
