//! The DType class of one element type, its descriptor, and the slots that NumPy calls.

use crate::{
    abi,
    dtype::{
        casts::{common, within_dtype},
        convert,
        handle::{DType, DTypeClass, ElementDescr, descr_new, pyobj, trampoline},
        slots::{arrfuncs, traverse},
    },
    erased::ElementType,
    numpy_abi::{
        NumpyApi, PyArray_DTypeMeta, PyArray_Descr, PyArrayDTypeMeta_Spec, PyArrayMethod_Spec,
        flags::*, slots,
    },
};
use pyo3::ffi;
use std::{
    ffi::{CStr, CString, c_char, c_void},
    ptr,
};

/// `dtype.kind`, one for all types: a letter that means nothing elsewhere. With NumPy's own letters others
/// take the bytes for numbers, for raw bytes or for pointers to Python objects.
const KIND_LETTER: u8 = b'E';
/// `dtype.char`: the dtype that `np.vectorize` gives its results, which it knows by this letter
/// alone, are objects.
const CHARACTER: u8 = b'O';

/// What [`create`] needs to know.
pub struct ClassSpec<'a> {
    /// `module.NameDType`.
    pub name: &'a str,
    /// Documentation of the class.
    pub documentation: &'a str,
    /// Casts with other types, besides the copy within the type.
    pub casts: &'a mut Vec<*mut PyArrayMethod_Spec>,
}

/// Makes the DType class and its descriptor. GIL held; an exception is set on failure.
///
/// # Safety
/// `scalar_class` is a type that no DType has yet, kept alive by the caller forever; the cast
/// specs are valid for the call.
pub unsafe fn create(
    numpy: &'static NumpyApi,
    element: &'static ElementType,
    scalar_class: *mut ffi::PyTypeObject,
    spec: ClassSpec<'_>,
) -> Result<&'static DType, ()> {
    let leak = |text: &str| -> &'static CStr {
        Box::leak(CString::new(text.replace('\0', "?")).unwrap_or_default().into_boxed_c_str())
    };
    // SAFETY: all-zero bytes are what C's static storage gives such a struct.
    let class: &'static mut DTypeClass = Box::leak(Box::new(unsafe { std::mem::zeroed() }));
    let class: *mut DTypeClass = class;
    let dtype: &'static DType = Box::leak(Box::new(DType::new(element, class, scalar_class)));
    // SAFETY: the class is ours alone until PyType_Ready, and immortal afterwards.
    unsafe {
        (*class).dtype = dtype;
        let object = class.cast::<ffi::PyObject>();
        // From zero to one.
        ffi::Py_INCREF(object);
        (*object).ob_type = numpy.dtype_meta_type();
        let python_type = class.cast::<ffi::PyTypeObject>();
        (*python_type).tp_name = leak(spec.name).as_ptr();
        (*python_type).tp_doc = leak(spec.documentation).as_ptr();
        (*python_type).tp_basicsize = size_of::<ElementDescr>() as ffi::Py_ssize_t;
        (*python_type).tp_base = numpy.descr_type();
        (*python_type).tp_flags = ffi::Py_TPFLAGS_DEFAULT;
        (*python_type).tp_new = Some(descr_new);
        (*python_type).tp_repr = Some(descr_repr);
        (*python_type).tp_str = Some(descr_repr);
        (*python_type).tp_methods = (&raw const METHODS.list).cast_mut().cast();
        (*python_type).tp_getset = (&raw const PROPERTIES.list).cast_mut().cast();
        if ffi::PyType_Ready(python_type) < 0 {
            return Err(());
        }
    }
    let mut slots = vec![
        slots::dtype::discover_descr_from_pyobject(discover_descr),
        slots::dtype::default_descr(default_descr),
        slots::dtype::common_dtype(common_dtype),
        slots::dtype::common_instance(common_instance),
        slots::dtype::ensure_canonical(ensure_canonical),
        slots::dtype::get_clear_loop(traverse::get_clear_loop),
        slots::dtype::get_fill_zero_loop(traverse::get_fill_zero_loop),
        slots::dtype::finalize_descr(finalize_descr),
    ];
    slots.extend(convert::slots(element));
    slots.extend(arrfuncs::slots(numpy, element));
    slots.push(slots::END);
    let mut within = within_dtype::CastSpec::new();
    let mut casts = vec![within.as_mut_ptr()];
    casts.append(spec.casts);
    casts.push(ptr::null_mut());
    let mut meta_spec = PyArrayDTypeMeta_Spec {
        typeobj: scalar_class,
        flags: NPY_DT_NUMERIC,
        casts: casts.as_mut_ptr(),
        slots: slots.as_mut_ptr(),
        baseclass: ptr::null_mut(),
    };
    // NumPy gives up a reference where it fails, and the class must stay: `np.dtype` knows it.
    // SAFETY: GIL held; the class is alive.
    unsafe { ffi::Py_INCREF(class.cast()) };
    // SAFETY: a ready class of the right metatype; the specs live through the call.
    if unsafe { numpy.init_dtype_meta_from_spec(class.cast(), &mut meta_spec) } < 0 {
        return Err(());
    }
    let descr = new_descr(numpy, dtype)?;
    // SAFETY: a new reference; GIL held.
    unsafe { dtype.set_descr(descr) };
    Ok(dtype)
}

/// The one descriptor of a class.
fn new_descr(numpy: &NumpyApi, dtype: &'static DType) -> Result<*mut PyArray_Descr, ()> {
    // SAFETY: NumPy's own constructor makes an object of our class's size; its fields are ours to
    // fill before it is seen.
    unsafe {
        let new = (*numpy.descr_type()).tp_new.ok_or(())?;
        let descr =
            new(dtype.class().cast(), ptr::null_mut(), ptr::null_mut()).cast::<ElementDescr>();
        if descr.is_null() {
            return Err(());
        }
        (*descr).dtype = dtype;
        let base = &mut (*descr).base;
        base.elsize = dtype.element().size() as isize;
        base.alignment = dtype.element().align() as isize;
        base.byteorder = b'|' as c_char;
        base.kind = KIND_LETTER as c_char;
        base.r#type = CHARACTER as c_char;
        base.flags |= NPY_ITEM_REFCOUNT
            | NPY_NEEDS_INIT
            | NPY_LIST_PICKLE
            | NPY_NEEDS_PYAPI
            | NPY_USE_GETITEM
            | NPY_USE_SETITEM;
        Ok(descr.cast())
    }
}

struct Methods {
    list: [ffi::PyMethodDef; 2],
}
// SAFETY: constant data.
unsafe impl Sync for Methods {}

static METHODS: Methods = Methods {
    list: [
        ffi::PyMethodDef {
            ml_name: c"__reduce__".as_ptr(),
            ml_meth: ffi::PyMethodDefPointer { PyCFunction: descr_reduce },
            ml_flags: ffi::METH_NOARGS,
            ml_doc: c"Pickles as the element type's name.".as_ptr(),
        },
        ffi::PyMethodDef::zeroed(),
    ],
};

struct Properties {
    list: [ffi::PyGetSetDef; 2],
}
// SAFETY: constant data.
unsafe impl Sync for Properties {}

static PROPERTIES: Properties = Properties {
    list: [
        ffi::PyGetSetDef {
            name: c"name".as_ptr(),
            get: Some(descr_name),
            set: None,
            doc: c"The element type's full name.".as_ptr(),
            closure: ptr::null_mut(),
        },
        ffi::PyGetSetDef {
            name: ptr::null(),
            get: None,
            set: None,
            doc: ptr::null(),
            closure: ptr::null_mut(),
        },
    ],
};

unsafe extern "C" fn descr_name(
    descr: *mut ffi::PyObject,
    _closure: *mut c_void,
) -> *mut ffi::PyObject {
    trampoline::slot("descr_name", || {
        // SAFETY: a descriptor of ours.
        unsafe { descr_repr(descr) }
    })
}

/// The full name, which is also how the dtype is written: `dtype=denizen.Integer`.
unsafe extern "C" fn descr_repr(descr: *mut ffi::PyObject) -> *mut ffi::PyObject {
    trampoline::slot("descr_repr", || {
        // SAFETY: a descriptor of ours.
        let name = unsafe { DType::of_descr(descr.cast()) }.element().name();
        pyobj::new_text(name)
    })
}

/// `(denizen._runtime._dtype_of, (name,))`.
unsafe extern "C" fn descr_reduce(
    descr: *mut ffi::PyObject,
    _none: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("descr_reduce", || {
        // SAFETY: GIL held; a descriptor of ours.
        unsafe {
            let name = DType::of_descr(descr.cast()).element().name();
            let module = ffi::PyImport_ImportModule(c"denizen._runtime".as_ptr());
            if module.is_null() {
                return ptr::null_mut();
            }
            let function = ffi::PyObject_GetAttrString(module, c"_dtype_of".as_ptr());
            ffi::Py_DECREF(module);
            if function.is_null() {
                return ptr::null_mut();
            }
            let text = ffi::PyUnicode_FromStringAndSize(
                name.as_ptr().cast::<c_char>(),
                name.len() as ffi::Py_ssize_t,
            );
            // Not `s#`: CPython 3.11 takes that only from code compiled with a macro.
            ffi::Py_BuildValue(c"N(N)".as_ptr(), function, text)
        }
    })
}

// Five slots stand without a trampoline: `discover_descr`, `default_descr`, `common_instance`,
// `ensure_canonical` and `finalize_descr` count a reference and do nothing else, so that they never
// panic; and NumPy goes on with a NULL of some of them.

unsafe extern "C" fn discover_descr(
    class: *mut PyArray_DTypeMeta,
    _object: *mut ffi::PyObject,
) -> *mut PyArray_Descr {
    // SAFETY: a class of ours.
    unsafe { DType::of_class(class) }.new_descr_reference()
}

unsafe extern "C" fn default_descr(class: *mut PyArray_DTypeMeta) -> *mut PyArray_Descr {
    // SAFETY: a class of ours.
    unsafe { DType::of_class(class) }.new_descr_reference()
}

/// The common DType with another class: ours where the other casts to us safely, the other where
/// we cast to it within the kind.
unsafe extern "C" fn common_dtype(
    class: *mut PyArray_DTypeMeta,
    other: *mut PyArray_DTypeMeta,
) -> *mut PyArray_DTypeMeta {
    trampoline::slot("common_dtype", || {
        // SAFETY: a class of ours, and a DType class; GIL held.
        unsafe {
            let dtype = DType::of_class(class);
            let common = common::common_class(dtype, other)
                .unwrap_or_else(|| ffi::Py_NotImplemented().cast::<PyArray_DTypeMeta>());
            ffi::Py_INCREF(common.cast());
            common
        }
    })
}

unsafe extern "C" fn common_instance(
    left: *mut PyArray_Descr,
    _right: *mut PyArray_Descr,
) -> *mut PyArray_Descr {
    // SAFETY: a descriptor; there is one a class.
    unsafe { ffi::Py_INCREF(left.cast()) };
    left
}

unsafe extern "C" fn ensure_canonical(descr: *mut PyArray_Descr) -> *mut PyArray_Descr {
    // SAFETY: a descriptor.
    unsafe { ffi::Py_INCREF(descr.cast()) };
    descr
}

/// Called for each new array that owns its data. Its presence makes NumPy refuse the dtype where
/// its memory cannot be cared for (subarrays, foreign buffers).
unsafe extern "C" fn finalize_descr(descr: *mut PyArray_Descr) -> *mut PyArray_Descr {
    // SAFETY: a descriptor.
    unsafe { ffi::Py_INCREF(descr.cast()) };
    descr
}

/// Why a type cannot be the element type of NumPy arrays.
pub fn unfit(element: &ElementType) -> Option<String> {
    let name = element.name();
    if !element.has_zero_promise() {
        Some(format!(
            "{name} makes no promise about zero bytes, so its cells cannot tell whether they hold \
             an object; store it tagged or boxed"
        ))
    } else if !element.is_trivially_relocatable() {
        Some(format!("{name} is not trivially relocatable; store it boxed"))
    } else if element.align() > 16 {
        Some(format!(
            "{name} is aligned to {} bytes, and NumPy's own buffers only to 16; store it boxed",
            element.align()
        ))
    } else if element.vtable().storage == abi::STORAGE_BOXED && element.size() != size_of::<usize>()
    {
        Some(format!("{name} is boxed, but its cell is not one pointer"))
    } else {
        None
    }
}
