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
