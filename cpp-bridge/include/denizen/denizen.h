/*
 * denizen.h: C objects as elements of NumPy arrays.
 *
 * Generated from src/abi; `make header` writes it anew.
 *
 * A client is an extension module. It calls denizen_import() once, describes its type in a
 * denizen_element_spec and hands that to `register_element` of the table. It links nothing: all
 * functions are reached through the table, which a capsule of the installed package carries.
 *
 * Cells. A cell is the storage of one element in an array. In a NumPy array a cell whose vacancy
 * bytes are all zero is vacant and reads as the type's default value; anything else is a live
 * object. `construct`, `copy_construct`, `assign`, `relocate` and `destroy` of the vtable get
 * cells whose state the runtime knows, all live or all vacant. Loops, casts and conversions get
 * cells as they are: an input may be vacant, an output may be either, and may be an input too.
 *
 * Conventions. Sizes, alignments and strides are in bytes, counts in elements; a stride may be 0
 * or negative. Every function comes with a `context`, handed back as its first argument. A
 * function that can fail returns a denizen_status and explains a failure in the denizen_error.
 * It throws no exception and does not longjmp. Function pointers of the vtable may be NULL where
 * their comment says what that means; those of loops, casts and identities must be there.
 *
 * Versions. Every struct that a client fills begins with its size: set it with sizeof. Members
 * are appended, never moved, so that an extension works with newer runtimes, and with older ones
 * as long as it needs nothing that they lack.
 *
 * Like Python.h, which it includes, this header comes before the standard ones.
 */
#ifndef DENIZEN_DENIZEN_H
#define DENIZEN_DENIZEN_H

#include <Python.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of denizen that this header comes from. */
#define DENIZEN_VERSION "0.1.0"

/** Name of the capsule that holds the function table. */
#define DENIZEN_CAPSULE_NAME "denizen._runtime._C_API"

/** A registered element type. */
typedef struct denizen_element denizen_element;

/**
 * Version of this interface that this copy was built for: `major << 16 | minor`. A new minor
 * version only appends; another major version is another interface.
 */
#define DENIZEN_ABI_VERSION ((1 << 16) | 2)

/** What a fallible function returns: DENIZEN_OK or one of the failures. */
typedef int32_t denizen_status;

/** Success. */
#define DENIZEN_OK 0

/** Failure, explained in the denizen_error. */
#define DENIZEN_FAILED (-1)

/** Failure with a Python exception already set. Only from functions called with the GIL held. */
#define DENIZEN_RAISED (-2)

/** The kind of a failure: which Python exception it becomes. */
typedef uint32_t denizen_error_kind;

/** `RuntimeError`. */
#define DENIZEN_ERROR_RUNTIME 0

/** `ValueError`. */
#define DENIZEN_ERROR_VALUE 1

/** `TypeError`. */
#define DENIZEN_ERROR_TYPE 2

/** `OverflowError`. */
#define DENIZEN_ERROR_OVERFLOW 3

/** `ZeroDivisionError`. */
#define DENIZEN_ERROR_ZERO_DIVISION 4

/** `MemoryError`. */
#define DENIZEN_ERROR_MEMORY 5

/** `denizen.VacantError`: a cell without an object was read, and its type has no default. */
#define DENIZEN_ERROR_VACANT 6

/** `denizen.BorrowError`: other code has the cells. */
#define DENIZEN_ERROR_BORROW 7

/** `IndexError`. */
#define DENIZEN_ERROR_INDEX 8

/** `NotImplementedError`. */
#define DENIZEN_ERROR_NOT_IMPLEMENTED 9

/** `denizen.IntegrityError`: memory of an array was overwritten by code that had no business there. */
#define DENIZEN_ERROR_INTEGRITY 10

/** Bytes of the message of denizen_error, the terminating NUL included. */
#define DENIZEN_MESSAGE_SIZE 496

/**
 * Where a fallible function says how far it came and what went wrong. The caller provides it;
 * the callee fills `kind` and `message` on failure and `done` where the function says so.
 */
typedef struct denizen_error {
    /** Bytes of this struct that the caller provides. */
    uint32_t struct_size;
    /** Which kind of failure. */
    denizen_error_kind kind;
    /** Elements completed before the failure. */
    size_t done;
    /**
     * UTF-8 text, NUL-terminated, cut at a character boundary where it does not fit. Bytes
     * behind the NUL are never read and need no value: a loop call makes one each time.
     */
    char message[DENIZEN_MESSAGE_SIZE];
} denizen_error;

/** Takes bytes in pieces. `write` may be called any number of times. */
typedef struct denizen_sink {
    /** Appends `size` bytes. */
    denizen_status (*write)(struct denizen_sink *sink, const uint8_t *bytes, size_t size);
    /** For the owner of the sink. */
    void *context;
} denizen_sink;

/** What a cell of zero bytes means. */
typedef uint32_t denizen_zero_bytes;

/**
 * No promise: only the init bitmap tells. Such a type lives in the core and in handler mode,
 * not in NumPy arrays.
 */
#define DENIZEN_ZERO_NO_PROMISE 0

/** A live object never has all vacancy bytes zero: zero means vacant. */
#define DENIZEN_ZERO_VACANT 1

/** Zero bytes are a valid default value with nothing to destroy. */
#define DENIZEN_ZERO_DEFAULT 2

/** How an object sits in its cell. */
typedef uint32_t denizen_storage;

/** The cell is exactly T. */
#define DENIZEN_STORAGE_INLINE 0

/** The cell is T and a tag; tag 0 is vacant. */
#define DENIZEN_STORAGE_TAGGED 1

/** The cell is one owning pointer to T. */
#define DENIZEN_STORAGE_BOXED 2

/** Bits of denizen_element_vtable.flags. */
typedef uint32_t denizen_element_flags;

/** Cells may be moved with memcpy. Every cell in a NumPy array must. */
#define DENIZEN_ELEMENT_TRIVIALLY_RELOCATABLE 1

/**
 * Objects may be used from several threads, one writer or many readers each (`Send + Sync`):
 * loops run without the GIL. Without it they hold it.
 */
#define DENIZEN_ELEMENT_THREAD_SAFE 2

/** Destruction needs the GIL. */
#define DENIZEN_ELEMENT_DESTROY_NEEDS_GIL 4

/**
 * Builds default objects in `count` vacant cells. Sets `error_out.done` on failure; cells before
 * it are live, the others vacant.
 */
typedef denizen_status (*denizen_construct_fn)(void *context,
                                               uint8_t *cells,
                                               ptrdiff_t stride,
                                               size_t count,
                                               struct denizen_error *error_out);

/**
 * Copies `count` live objects from `source` to `destination`, strictly in order; whether the
 * destination is vacant or live depends on the member. A destination may be a source cell that
 * was copied before it, never one that comes later. Sets `error_out.done` on failure; cells before
 * it are done, the others as they were.
 *
 * With DENIZEN_ZERO_DEFAULT a cell of zero bytes counts as live here, in `assign` and in `destroy`.
 */
typedef denizen_status (*denizen_copy_fn)(void *context,
                                          uint8_t *destination,
                                          ptrdiff_t destination_stride,
                                          const uint8_t *source,
                                          ptrdiff_t source_stride,
                                          size_t count,
                                          struct denizen_error *error_out);

/**
 * Moves `count` live objects from `source` to vacant cells at `destination`; the source cells
 * are vacant afterwards (their bytes are the caller's). Ranges do not overlap. Sets
 * `error_out.done` on failure; cells before it have moved.
 */
typedef denizen_status (*denizen_relocate_fn)(void *context,
                                              uint8_t *destination,
                                              ptrdiff_t destination_stride,
                                              uint8_t *source,
                                              ptrdiff_t source_stride,
                                              size_t count,
                                              struct denizen_error *error_out);

/**
 * Destroys `count` live objects, all of them even where a destructor fails; a failure is then
 * reported. The bytes are the caller's afterwards.
 */
typedef denizen_status (*denizen_destroy_fn)(void *context,
                                             uint8_t *cells,
                                             ptrdiff_t stride,
                                             size_t count,
                                             struct denizen_error *error_out);

/**
 * Three-way comparison of two cells: writes -1, 0 or 1, a total order. Values that compare with
 * nothing (NaN) sort last.
 */
typedef denizen_status (*denizen_compare_fn)(void *context,
                                             const uint8_t *left,
                                             const uint8_t *right,
                                             int32_t *result,
                                             struct denizen_error *error_out);

/**
 * Sorts `count` contiguous cells in place, stably, in the order of denizen_compare_fn. Whatever
 * happens, the cells afterwards are a permutation of the cells before.
 */
typedef denizen_status (*denizen_sort_fn)(void *context,
                                          uint8_t *cells,
                                          size_t count,
                                          struct denizen_error *error_out);

/** Permutes `count` indices (already 0, 1, ..) so that they sort the cells stably. */
typedef denizen_status (*denizen_argsort_fn)(void *context,
                                             const uint8_t *cells,
                                             ptrdiff_t stride,
                                             size_t count,
                                             ptrdiff_t *indices,
                                             struct denizen_error *error_out);

/** Writes 1 where the value is true in the sense of Python's `bool`, else 0. */
typedef denizen_status (*denizen_nonzero_fn)(void *context,
                                             const uint8_t *cells,
                                             ptrdiff_t stride,
                                             size_t count,
                                             uint8_t *results,
                                             ptrdiff_t result_stride,
                                             struct denizen_error *error_out);

/** Adds up the heap bytes that `count` objects own beside their cells. */
typedef denizen_status (*denizen_heap_bytes_fn)(void *context,
                                                const uint8_t *cells,
                                                ptrdiff_t stride,
                                                size_t count,
                                                size_t *bytes);

/**
 * Writes the hash of one value, equal for equal values. It must agree with the hash of the
 * Python scalar.
 */
typedef denizen_status (*denizen_hash_fn)(void *context,
                                          const uint8_t *cell,
                                          int64_t *hash,
                                          struct denizen_error *error_out);

/** Writes one value as text or as bytes of the codec. */
typedef denizen_status (*denizen_save_fn)(void *context,
                                          const uint8_t *cell,
                                          struct denizen_sink *sink,
                                          struct denizen_error *error_out);

/**
 * Reads one value from text (UTF-8) or from bytes of the codec into a cell that may be live.
 * All bytes must be used. On failure the cell is as it was. The bytes may be anything: a pickle that
 * was changed by other code is passed on as it is.
 */
typedef denizen_status (*denizen_load_fn)(void *context,
                                          uint8_t *cell,
                                          const uint8_t *bytes,
                                          size_t size,
                                          struct denizen_error *error_out);

/**
 * Makes the Python scalar of one value: a new reference, or NULL with an exception set or the
 * denizen_error filled (`error_out.kind` and a message). GIL held.
 */
typedef PyObject *(*denizen_to_python_fn)(void *context,
                                          const uint8_t *cell,
                                          struct denizen_error *error_out);

/**
 * Reads a Python object (borrowed) into a cell that may be live. On failure (DENIZEN_FAILED
 * or DENIZEN_RAISED) the cell is as it was. GIL held.
 */
typedef denizen_status (*denizen_from_python_fn)(void *context,
                                                 uint8_t *cell,
                                                 PyObject *object,
                                                 struct denizen_error *error_out);

/**
 * Visits the Python objects that one value refers to. Reserved: the runtime does not call it
 * yet.
 */
typedef int32_t (*denizen_traverse_fn)(void *context,
                                       const uint8_t *cell,
                                       int32_t (*visit)(PyObject *object, void *argument),
                                       void *argument);

/** The operations of one element type. */
typedef struct denizen_element_vtable {
    /** Bytes of this struct that the client filled. */
    size_t struct_size;
    /** DENIZEN_ABI_VERSION of the client. */
    uint32_t abi_version;
    /** denizen_element_flags. */
    denizen_element_flags flags;
    /** The type's name, `module.Name`, UTF-8. */
    const char *name;
    /** The name of the type in its own language, for checks when it is imported elsewhere. */
    const char *language_name;
    /** Bytes of one cell; at least 1, a multiple of `align`. */
    size_t size;
    /** Alignment of a cell, a power of two up to 4096; in NumPy arrays up to 16. */
    size_t align;
    /** How the object sits in the cell. */
    denizen_storage storage;
    /** What zero bytes mean. */
    denizen_zero_bytes zero_bytes;
    /** First vacancy byte in the cell (tagged: the tag; else 0). */
    size_t vacancy_offset;
    /** How many vacancy bytes (tagged: the tag's size; else `size`). */
    size_t vacancy_size;
    /** Handed to every function below. */
    void *context;
    /** Default construction; NULL: T has no default. */
    denizen_construct_fn construct;
    /** Copy construction into vacant cells; NULL: T cannot be copied. */
    denizen_copy_fn copy_construct;
    /** Copy assignment to live cells, reusing their storage; NULL: destroy and copy-construct. */
    denizen_copy_fn assign;
    /** Relocation; NULL: memcpy. */
    denizen_relocate_fn relocate;
    /** Destruction; NULL: nothing to do. */
    denizen_destroy_fn destroy;
    /** Three-way comparison; NULL: T has no ordering. */
    denizen_compare_fn compare;
    /** Sort; NULL: made from `compare`. */
    denizen_sort_fn sort;
    /** Argsort; NULL: made from `compare`. */
    denizen_argsort_fn argsort;
    /** Truth; NULL: refused. */
    denizen_nonzero_fn nonzero;
    /** Hash; NULL: the scalar is unhashable. */
    denizen_hash_fn hash;
    /** Owned heap bytes; NULL: unknown. */
    denizen_heap_bytes_fn heap_bytes;
    /** Text; NULL: `<module.Name>`. */
    denizen_save_fn to_text;
    /** Value from text; NULL: strings are refused. */
    denizen_load_fn from_text;
    /** Codec for pickle; NULL: text where T has both directions, else refused. */
    denizen_save_fn save;
    /** The other direction of `save`, which also gets bytes that no `save` made. */
    denizen_load_fn load;
    /** Python scalar; NULL: the scalar class that the runtime makes. */
    denizen_to_python_fn to_python;
    /** From a Python object; NULL: only scalars of the class, and text where T reads it. */
    denizen_from_python_fn from_python;
    /** Reserved. */
    denizen_traverse_fn traverse;
    /**
     * `sizeof(T)`, of the object itself, however it sits in its cell. Two modules that share a type
     * must agree on it (denizen_api.import_element). Since 1.2.
     */
    size_t object_size;
    /** `alignof(T)`; 0: it and `object_size` are not told, as in clients before 1.2. */
    size_t object_align;
} denizen_element_vtable;

/** The type of one operand of a loop or cast. */
typedef struct denizen_operand {
    /** DENIZEN_OPERAND_SELF, DENIZEN_OPERAND_NUMPY or DENIZEN_OPERAND_ELEMENT. */
    uint32_t kind;
    /** NumPy's type number (`NPY_DOUBLE` = 12, ..), with DENIZEN_OPERAND_NUMPY. */
    int32_t numpy_type;
    /** Another registered type, with DENIZEN_OPERAND_ELEMENT. */
    const denizen_element *element;
} denizen_operand;

/** The element type being registered. */
#define DENIZEN_OPERAND_SELF 0

/** A built-in NumPy type. */
#define DENIZEN_OPERAND_NUMPY 1

/** Another element type. */
#define DENIZEN_OPERAND_ELEMENT 2

/**
 * An inner loop in NumPy's convention: `dimensions[0]` is the number of iterations, core
 * dimensions of a generalised ufunc follow; `arguments` and `strides` have one entry an
 * operand, core strides follow. Data of built-in types may be unaligned; cells of element types
 * are aligned. Sets `error_out.done` on failure: outputs before it are written.
 */
typedef denizen_status (*denizen_loop_fn)(void *context,
                                          uint8_t *const *arguments,
                                          const ptrdiff_t *dimensions,
                                          const ptrdiff_t *strides,
                                          struct denizen_error *error_out);

/**
 * One loop of one ufunc.
 *
 * Without a function, and with operands that are all numbers of NumPy: NumPy's own loop for
 * these numbers, to which operands of the type are cast (within the kind, so the type needs such a
 * cast). Wider floats and complex numbers beside them, or as the type that a caller fixes, take
 * NumPy's loop for those.
 */
typedef struct denizen_loop {
    /** Bytes of this struct. */
    size_t struct_size;
    /** Name of the ufunc in `numpy`, or `module:name` elsewhere. */
    const char *ufunc;
    /** `input_count + output_count` operands. */
    const struct denizen_operand *operands;
    /** How many inputs. */
    uint32_t input_count;
    /** How many outputs. */
    uint32_t output_count;
    /** The function, or NULL. */
    denizen_loop_fn function;
    /** Handed to it. */
    void *context;
    /** Reserved, 0. */
    uint64_t flags;
} denizen_loop;

/** NumPy's casting levels. */
typedef uint32_t denizen_cast_level;

/** Every value survives. */
#define DENIZEN_CAST_SAFE 2

/** Within a kind. */
#define DENIZEN_CAST_SAME_KIND 3

/** Only on request. */
#define DENIZEN_CAST_UNSAFE 4

/**
 * One cast: a loop with one input and one output. One of the two operands is the type itself.
 *
 * From the casts of `int64`, `uint64` and `float64` the runtime makes those of the other widths
 * where none is given.
 */
typedef struct denizen_cast {
    /** Bytes of this struct. */
    size_t struct_size;
    /** Source type. */
    struct denizen_operand from;
    /** Target type. */
    struct denizen_operand to;
    /** NumPy's casting level. */
    denizen_cast_level level;
    /** Reserved, 0. */
    uint32_t flags;
    /** The function. */
    denizen_loop_fn function;
    /** Handed to it. */
    void *context;
} denizen_cast;

/** The value that a reduction of a ufunc starts from (also its result for no elements). */
typedef struct denizen_identity {
    /** Bytes of this struct. */
    size_t struct_size;
    /** Name of the ufunc. */
    const char *ufunc;
    /** Builds the value in one vacant cell. */
    denizen_construct_fn construct;
    /** Handed to it. */
    void *context;
} denizen_identity;

/**
 * Everything about one type, for registration. Nothing in it needs to outlive the call but the
 * functions and their contexts.
 *
 * Functions, and contexts that are a library's own data, keep that library in the process for good:
 * the runtime pins it, and `dlclose` does not unload it any more. Functions in no library (code made
 * at run time, closures of libffi) and contexts on a heap are the client's to keep.
 */
typedef struct denizen_element_spec {
    /** Bytes of this struct. */
    size_t struct_size;
    /** The operations. */
    const struct denizen_element_vtable *vtable;
    /** Loops, `loop_count` of them. */
    const struct denizen_loop *loops;
    /** How many loops. */
    size_t loop_count;
    /** Casts, `cast_count` of them. */
    const struct denizen_cast *casts;
    /** How many casts. */
    size_t cast_count;
    /** Identities, `identity_count` of them. */
    const struct denizen_identity *identities;
    /** How many identities. */
    size_t identity_count;
    /** The scalar class (borrowed), or NULL: the runtime makes one. */
    PyObject *scalar_class;
    /** Documentation of the scalar class, or NULL. */
    const char *documentation;
} denizen_element_spec;

/** Most dimensions an array can have. */
#define DENIZEN_MAX_DIMENSIONS 64

/** Bits of the `flags` argument of denizen_api.view. */
typedef uint32_t denizen_view_flags;

/** The view writes. Refused on read-only arrays; excludes every other access while it lasts. */
#define DENIZEN_VIEW_WRITE 1

/**
 * Vacant cells are an error (DENIZEN_ERROR_VACANT, naming the index) instead of being
 * filled with the default value.
 */
#define DENIZEN_VIEW_REFUSE_VACANT 2

/**
 * Vacant cells are lent as they are. The client looks at their vacancy bytes before it reads,
 * and fills those that it likes; `release_view` counts what is there then.
 */
#define DENIZEN_VIEW_KEEP_VACANT 4

/** Bits of the `flags` argument of denizen_api.adopt. */
typedef uint32_t denizen_adopt_flags;

/** The array is not writeable. */
#define DENIZEN_ADOPT_READ_ONLY 1

/** Bytes of a cell in handler mode: the itemsize of a legacy dtype. */
#define DENIZEN_CELL_SIZE 24

/** Alignment that such a dtype declares. */
#define DENIZEN_CELL_ALIGN 8

/**
 * Most objects of one type that are lent to foreign memory at once; where there would be more,
 * those go that were not used for longest.
 */
#define DENIZEN_LENT_LIMIT (1 << 16)

/** denizen_api.peek met a raw copy whose original is gone or has another value by now. No failure. */
#define DENIZEN_STALE 1

/** The cells of an array, lent to a client until denizen_api.release_view. */
typedef struct denizen_view {
    /** Bytes of this struct that the client provides. */
    size_t struct_size;
    /** First cell. */
    uint8_t *data;
    /** How many dimensions. */
    size_t dimension_count;
    /** Elements along each dimension. */
    ptrdiff_t shape[DENIZEN_MAX_DIMENSIONS];
    /** Bytes from one element to the next along each dimension. */
    ptrdiff_t strides[DENIZEN_MAX_DIMENSIONS];
    /** The type of the cells. */
    const denizen_element *element;
    /** The array, kept alive. */
    PyObject *array;
    /** For the runtime. */
    void *token;
} denizen_view;

/** Counters of one type. */
typedef struct denizen_stats {
    /** Bytes of this struct that the client provides. */
    size_t struct_size;
    /** Objects alive now. */
    int64_t live;
    /** Objects constructed, copies included. */
    uint64_t constructed;
    /** Objects destroyed. */
    uint64_t destroyed;
    /** Objects moved from one cell to another. */
    uint64_t relocated;
    /** Objects constructed in foreign memory. */
    uint64_t foreign;
    /** Bits of init bitmaps corrected after NumPy moved bytes raw. */
    uint64_t reconciled;
    /** Of `live`: objects lent to foreign memory by denizen_api.touch and denizen_api.store. */
    uint64_t lent;
    /** How often denizen_api.peek met a raw copy whose original is gone or has another value. */
    uint64_t stale;
} denizen_stats;

/**
 * The function table. Members are appended, never moved.
 *
 * All functions need the GIL except denizen_api.segment_of. Those that return a denizen_status or a
 * pointer to a Python object set a Python exception when they fail.
 */
typedef struct denizen_api {
    /** Bytes of this struct that the runtime filled. */
    size_t struct_size;
    /** DENIZEN_ABI_VERSION of the runtime. */
    uint32_t abi_version;
    /** Reserved, 0. */
    uint32_t reserved;
    /** Version of the runtime, as text. */
    const char *runtime_version;
    /**
     * Registers a type and adds its scalar class as `Name` and its DType class as `NameDType`
     * to `module`. Writes the handle of the type.
     *
     * What is wrong with the spec is found before NumPy hears of the type: then the failure leaves
     * nothing behind, the name is free, `*element` is NULL, and the client may free all that the
     * spec refers to. A failure after NumPy has the type's DType class cannot be undone: `*element`
     * is not NULL then, the type can neither be used nor registered again in this process, and its
     * functions and contexts stay, as those of a registered type.
     */
    denizen_status (*register_element)(const struct denizen_element_spec *spec,
                                       PyObject *module,
                                       const denizen_element **element);
    /**
     * Finds a registered type by its full name, after comparing cell size, alignment and (where
     * not NULL) language name. NULL with an exception set where there is none or it differs. A
     * client that has objects of the type asks denizen_api.import_element.
     */
    const denizen_element *(*find_element)(const char *name,
                                           size_t size,
                                           size_t align,
                                           const char *language_name);
    /** The dtype (descriptor) of a type: a new reference. */
    PyObject *(*dtype)(const denizen_element *element);
    /** A new array of `shape`, every cell the default value: a new reference. */
    PyObject *(*empty)(const denizen_element *element,
                       size_t dimension_count,
                       const ptrdiff_t *shape);
    /**
     * A new array over `data` (inline types only), without a copy: a new reference. `release`
     * is called once with `owner` when the last view is gone, or at once on failure.
     */
    PyObject *(*adopt)(const denizen_element *element,
                       uint8_t *data,
                       size_t dimension_count,
                       const ptrdiff_t *shape,
                       const ptrdiff_t *strides,
                       void *owner,
                       void (*release)(void *owner),
                       uint32_t flags);
    /**
     * Lends the cells of an array of exactly this type. Vacant cells are filled with the
     * default value first.
     */
    denizen_status (*view)(PyObject *array,
                           const denizen_element *element,
                           denizen_view_flags flags,
                           struct denizen_view *view);
    /** Ends a view. Idempotent. */
    void (*release_view)(struct denizen_view *view);
    /** Reads a type's counters. */
    denizen_status (*stats)(const denizen_element *element, struct denizen_stats *stats);
    /**
     * The first cell of the segment that holds `pointer`, or NULL for foreign memory. Callable
     * without the GIL.
     */
    void *(*segment_of)(const void *pointer);
    /** Turns a failure of a client's own function into a Python exception. */
    void (*raise)(const struct denizen_error *error_out);
    /**
     * Registers a type that gets no NumPy dtype of ours: for a legacy dtype whose arrays are made
     * in handler mode. Its cells in NumPy arrays have DENIZEN_CELL_SIZE bytes (the itemsize), which
     * name an object of the type's own size and alignment; `zero_bytes` is
     * DENIZEN_ZERO_NO_PROMISE, and trivial relocation is not asked for. `module` (may be NULL) is named where the name is taken.
     */
    denizen_status (*register_type)(const struct denizen_element_vtable *vtable,
                                    PyObject *module,
                                    const denizen_element **element);
    /**
     * The object of the cell at `pointer`, to be changed: default-constructed where there is
     * none, the cell's own where NumPy copied the cell's bytes. Touch the cells that an operation
     * writes before those that it reads. The address is good until NumPy is called again.
     *
     * Fails where the type has no default, where the memory holds another type, and where no cell
     * begins there.
     */
    denizen_status (*touch)(void *pointer, const denizen_element *element, void **object);
    /**
     * The object of the cell at `pointer`, to be read, or NULL where there is none, which means
     * the type's default. Builds nothing. DENIZEN_STALE with NULL: the cell is a raw copy that NumPy
     * made of another one, whose object is gone or has another value by now.
     */
    denizen_status (*peek)(const void *pointer, const denizen_element *element, const void **object);
    /**
     * Copies `object`, of the type, into the cell at `pointer`: assigned where there is an object,
     * else copy-constructed.
     */
    denizen_status (*store)(void *pointer, const denizen_element *element, const void *object);
    /** Makes the cell at `pointer` vacant; its object is destroyed. */
    denizen_status (*vacate)(void *pointer, const denizen_element *element);
    /**
     * Destroys the objects that are lent to foreign memory (NumPy's buffers), of one type or (NULL)
     * of all, and returns how many. Call it while no operation on the type is at work. Without it
     * at most DENIZEN_LENT_LIMIT of a type stay, those used last.
     */
    size_t (*sweep)(const denizen_element *element);
    /**
     * Finds the registered type of the name in `expected`, for a client that has the same type of
     * its own: after comparing all that says what a cell and an object look like. These are size,
     * alignment, storage, meaning of zero bytes and vacancy bytes of the cell, `object_size` and
     * `object_align` where both sides tell them, and the language name where both have one. Other
     * members are not looked at. NULL with an exception set: `LookupError` where there is no such
     * type, `TypeError` where it differs, naming both values. Since 1.2.
     */
    const denizen_element *(*import_element)(const struct denizen_element_vtable *expected);
} denizen_api;

/** Bytes of the function table up to and with a member, for denizen_import_sized(). */
#define DENIZEN_API_SIZE_WITH(member) \
    (offsetof(denizen_api, member) + sizeof(((denizen_api *)0)->member))

/**
 * The function table of the installed runtime, of which this client uses the first `size` bytes;
 * imports the package if need be. NULL with an ImportError set where denizen is not installed
 * (ModuleNotFoundError), is another version of the interface, or lacks members. GIL held.
 */
static inline const denizen_api *denizen_import_sized(size_t size)
{
    const denizen_api *api = (const denizen_api *)PyCapsule_Import(DENIZEN_CAPSULE_NAME, 0);
    if (api == NULL) {
        return NULL;
    }
    if (api->abi_version >> 16 != DENIZEN_ABI_VERSION >> 16) {
        PyErr_Format(PyExc_ImportError,
                     "this extension was built for interface %u.%u of denizen (version %s), the "
                     "installed denizen %s has interface %u.%u: rebuild the one that is older",
                     (unsigned)(DENIZEN_ABI_VERSION >> 16), (unsigned)(DENIZEN_ABI_VERSION & 0xffff),
                     DENIZEN_VERSION, api->runtime_version, (unsigned)(api->abi_version >> 16),
                     (unsigned)(api->abi_version & 0xffff));
        return NULL;
    }
    if (api->struct_size < size) {
        PyErr_Format(PyExc_ImportError,
                     "this extension was built for denizen %s (interface %u.%u) and needs %zu bytes "
                     "of its function table, the installed denizen %s (interface %u.%u) has %zu: "
                     "upgrade denizen",
                     DENIZEN_VERSION, (unsigned)(DENIZEN_ABI_VERSION >> 16),
                     (unsigned)(DENIZEN_ABI_VERSION & 0xffff), size, api->runtime_version,
                     (unsigned)(api->abi_version >> 16), (unsigned)(api->abi_version & 0xffff),
                     api->struct_size);
        return NULL;
    }
    return api;
}

/** The function table of the installed runtime with every member that this header knows. */
static inline const denizen_api *denizen_import(void)
{
    return denizen_import_sized(sizeof(denizen_api));
}

/**
 * Whether a cell is vacant: `vacancy_bytes` points to the first of its vacancy bytes (to the cell
 * itself, for a type that is stored inline), of which there are `size`.
 */
static inline int denizen_is_vacant(const void *vacancy_bytes, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)vacancy_bytes;
    for (size_t index = 0; index < size; index++) {
        if (bytes[index] != 0) {
            return 0;
        }
    }
    return 1;
}

/**
 * Records a failure and returns DENIZEN_FAILED, so that functions can `return denizen_fail(..)`.
 * The text is UTF-8, cut at a character boundary where it does not fit.
 */
static inline denizen_status denizen_fail(denizen_error *error_out, denizen_error_kind kind,
                                          const char *text)
{
    size_t end = 0;
    error_out->kind = kind;
    while (end < DENIZEN_MESSAGE_SIZE - 1 && text[end] != '\0') {
        end++;
    }
    if (text[end] != '\0') {
        while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) {
            end--;
        }
    }
    memcpy(error_out->message, text, end);
    error_out->message[end] = '\0';
    return DENIZEN_FAILED;
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DENIZEN_DENIZEN_H */
