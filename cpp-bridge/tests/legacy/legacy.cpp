// An old-style dtype (PyArray_RegisterDataType) whose elements are C++ objects: what its author has
// to write to use denizen's handler mode, and nothing of denizen's dtype layer. The type owns heap
// memory, points into itself, and counts its lives. test_legacy_dtype.py uses it.
#include <denizen/denizen.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include <cstdio>
#include <cstring>
#include <new>

namespace {

// ---- the type -----------------------------------------------------------------------------------

long long built, gone, broken;
bool refuse_next = false;

// A number in a heap cell. Its bytes are worthless at another address.
class Counted {
public:
    explicit Counted(double value = 0) : number_(new double(refused(value))), self_(this) { built++; }
    Counted(const Counted &other) : Counted(other.value()) {}
    Counted &operator=(const Counted &other)
    {
        set(other.value());
        return *this;
    }
    ~Counted()
    {
        check();
        gone++;
        self_ = nullptr;
        delete number_;
    }

    double value() const { return check() ? *number_ : -1; }
    void set(double value)
    {
        if (check()) {
            *number_ = refused(value);
        }
    }

private:
    // Fails once, when a test has asked for it.
    static double refused(double value)
    {
        if (refuse_next) {
            refuse_next = false;
            throw std::bad_alloc();
        }
        return value;
    }
    bool check() const
    {
        if (self_ != this) {
            broken++;
        }
        return self_ == this;
    }

    double *number_;
    const Counted *self_;
};

// ---- the type for denizen -----------------------------------------------------------------------

// Runs f; an exception becomes a failure.
template <class F> denizen_status guarded(denizen_error *error_out, F f) noexcept
{
    try {
        f();
        return DENIZEN_OK;
    } catch (const std::exception &) {
        error_out->kind = DENIZEN_ERROR_MEMORY;
        std::snprintf(error_out->message, sizeof error_out->message, "no memory for a number");
        return DENIZEN_FAILED;
    }
}

denizen_status construct(void *, uint8_t *cells, ptrdiff_t stride, size_t count,
                         denizen_error *error_out)
{
    return guarded(error_out, [&] {
        for (error_out->done = 0; error_out->done < count; error_out->done++, cells += stride) {
            new (cells) Counted();
        }
    });
}

denizen_status copy_construct(void *, uint8_t *to, ptrdiff_t to_stride, const uint8_t *from,
                              ptrdiff_t from_stride, size_t count, denizen_error *error_out)
{
    return guarded(error_out, [&] {
        for (error_out->done = 0; error_out->done < count; error_out->done++) {
            new (to) Counted(*reinterpret_cast<const Counted *>(from));
            to += to_stride, from += from_stride;
        }
    });
}

denizen_status assign(void *, uint8_t *to, ptrdiff_t to_stride, const uint8_t *from,
                      ptrdiff_t from_stride, size_t count, denizen_error *error_out)
{
    return guarded(error_out, [&] {
        for (error_out->done = 0; error_out->done < count; error_out->done++) {
            *reinterpret_cast<Counted *>(to) = *reinterpret_cast<const Counted *>(from);
            to += to_stride, from += from_stride;
        }
    });
}

denizen_status relocate(void *, uint8_t *to, ptrdiff_t to_stride, uint8_t *from,
                        ptrdiff_t from_stride, size_t count, denizen_error *error_out)
{
    return guarded(error_out, [&] {
        for (error_out->done = 0; error_out->done < count; error_out->done++) {
            auto &old = *reinterpret_cast<Counted *>(from);
            new (to) Counted(old);
            old.~Counted();
            to += to_stride, from += from_stride;
        }
    });
}

denizen_status destroy(void *, uint8_t *cells, ptrdiff_t stride, size_t count, denizen_error *)
{
    for (size_t index = 0; index < count; index++, cells += stride) {
        reinterpret_cast<Counted *>(cells)->~Counted();
    }
    return DENIZEN_OK;
}

const denizen_api *api;
const denizen_element *counted;   // Counted
const denizen_element *exacting;  // the same without a default

int register_types(PyObject *module)
{
    denizen_element_vtable vtable = {};
    vtable.struct_size = sizeof vtable;
    vtable.abi_version = DENIZEN_ABI_VERSION;
    vtable.name = "legacy.Counted";
    vtable.size = sizeof(Counted);
    vtable.align = alignof(Counted);
    vtable.zero_bytes = DENIZEN_ZERO_NO_PROMISE;
    vtable.vacancy_size = sizeof(Counted);
    vtable.construct = construct;
    vtable.copy_construct = copy_construct;
    vtable.assign = assign;
    vtable.relocate = relocate;
    vtable.destroy = destroy;
    if (api->register_type(&vtable, module, &counted) != DENIZEN_OK) {
        return -1;
    }
    vtable.name = "legacy.Exacting";
    vtable.construct = nullptr;
    return api->register_type(&vtable, module, &exacting) == DENIZEN_OK ? 0 : -1;
}

// ---- cells --------------------------------------------------------------------------------------

// The value of a cell; -1 with an exception set where it cannot be read.
double read(const void *cell)
{
    const void *object;
    const denizen_status status = api->peek(cell, counted, &object);
    if (status == DENIZEN_STALE && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError,
                        "NumPy copied this element as bytes, and what it was copied from has "
                        "changed since");
    }
    if (status != DENIZEN_OK) {
        return -1;
    }
    return object ? static_cast<const Counted *>(object)->value() : 0;
}

// The object of a cell to write to, or NULL with an exception set.
Counted *written(void *cell)
{
    void *object;
    return api->touch(cell, counted, &object) == DENIZEN_OK ? static_cast<Counted *>(object)
                                                             : nullptr;
}

// Gives a cell a value: -1 with an exception set on failure.
int write(void *cell, double value)
{
    Counted *object = written(cell);
    if (!object) {
        return -1;
    }
    try {
        object->set(value);
        return 0;
    } catch (const std::bad_alloc &) {
    }
    PyErr_NoMemory();
    return -1;
}

// Copies one cell to another. A vacant one stays vacant, a stale one stays stale.
void copy(void *to, const void *from)
{
    const void *object;
    if (to == from) {
        return;
    }
    const denizen_status status = api->peek(from, counted, &object);
    if (status < 0) {
        return;
    }
    if (object) {
        api->store(to, counted, object);
    } else if (api->vacate(to, counted) == DENIZEN_OK && status == DENIZEN_STALE) {
        std::memcpy(to, from, DENIZEN_CELL_SIZE);
    }
}

// ---- the scalar ---------------------------------------------------------------------------------

struct Scalar {
    PyObject_HEAD
    double value;
};

PyTypeObject *scalar_type;
int type_number;

PyObject *make_scalar(double value)
{
    PyObject *made = scalar_type->tp_alloc(scalar_type, 0);
    if (made) {
        reinterpret_cast<Scalar *>(made)->value = value;
    }
    return made;
}

PyObject *scalar_new(PyTypeObject *, PyObject *arguments, PyObject *)
{
    double value;
    return PyArg_ParseTuple(arguments, "d", &value) ? make_scalar(value) : nullptr;
}

PyObject *scalar_float(PyObject *self)
{
    return PyFloat_FromDouble(reinterpret_cast<Scalar *>(self)->value);
}

PyObject *scalar_repr(PyObject *self)
{
    PyObject *number = scalar_float(self);
    PyObject *text = number ? PyUnicode_FromFormat("Number(%R)", number) : nullptr;
    Py_XDECREF(number);
    return text;
}

PyType_Slot scalar_slots[] = {{Py_tp_new, reinterpret_cast<void *>(scalar_new)},
                              {Py_tp_repr, reinterpret_cast<void *>(scalar_repr)},
                              {Py_nb_float, reinterpret_cast<void *>(scalar_float)},
                              {0, nullptr}};
PyType_Spec scalar_spec = {"legacy.Number", sizeof(Scalar), 0, Py_TPFLAGS_DEFAULT, scalar_slots};

// ---- the dtype ----------------------------------------------------------------------------------

PyObject *getitem(void *cell, void *)
{
    const double value = read(cell);
    return value == -1 && PyErr_Occurred() ? nullptr : make_scalar(value);
}

int setitem(PyObject *value, void *cell, void *)
{
    const double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred()) {
        return -1;
    }
    return write(cell, number);
}

void copyswap(void *to, void *from, int, void *)
{
    if (from) {
        copy(to, from);
    }
}

void copyswapn(void *to, npy_intp to_stride, void *from, npy_intp from_stride, npy_intp count, int,
               void *)
{
    for (npy_intp index = 0; from && index < count; index++) {
        copy(static_cast<char *>(to) + index * to_stride,
             static_cast<char *>(from) + index * from_stride);
    }
}

int compare(const void *left, const void *right, void *)
{
    const double l = read(left), r = read(right);
    return l < r ? -1 : l > r;
}

npy_bool nonzero(void *cell, void *) { return read(cell) != 0; }

int fill(void *data, npy_intp count, void *)
{
    char *cells = static_cast<char *>(data);
    const double first = read(cells), step = read(cells + DENIZEN_CELL_SIZE) - first;
    for (npy_intp index = 2; index < count; index++) {
        if (write(cells + index * DENIZEN_CELL_SIZE, first + static_cast<double>(index) * step)) {
            return -1;
        }
    }
    return PyErr_Occurred() ? -1 : 0;
}

void from_double(void *from, void *to, npy_intp count, void *, void *)
{
    for (npy_intp index = 0; index < count; index++) {
        if (write(static_cast<char *>(to) + index * DENIZEN_CELL_SIZE,
                  static_cast<double *>(from)[index])) {
            return;
        }
    }
}

void to_double(void *from, void *to, npy_intp count, void *, void *)
{
    for (npy_intp index = 0; index < count; index++) {
        static_cast<double *>(to)[index] =
            read(static_cast<char *>(from) + index * DENIZEN_CELL_SIZE);
    }
}

void to_bool(void *from, void *to, npy_intp count, void *, void *)
{
    for (npy_intp index = 0; index < count; index++) {
        static_cast<npy_bool *>(to)[index] =
            read(static_cast<char *>(from) + index * DENIZEN_CELL_SIZE) != 0;
    }
}

// ---- ufunc loops --------------------------------------------------------------------------------

void add(char **data, npy_intp const *dimensions, npy_intp const *strides, void *)
{
    for (npy_intp index = 0; index < dimensions[0]; index++) {
        // What is written comes first: see denizen_api.touch.
        Counted *out = written(data[2] + index * strides[2]);
        if (!out) {
            return;
        }
        const double left = read(data[0] + index * strides[0]);
        const double right = read(data[1] + index * strides[1]);
        if (PyErr_Occurred()) {
            return;
        }
        out->set(left + right);
    }
}

void negative(char **data, npy_intp const *dimensions, npy_intp const *strides, void *)
{
    for (npy_intp index = 0; index < dimensions[0]; index++) {
        if (write(data[1] + index * strides[1], -read(data[0] + index * strides[0]))) {
            return;
        }
    }
}

void less(char **data, npy_intp const *dimensions, npy_intp const *strides, void *)
{
    for (npy_intp index = 0; index < dimensions[0]; index++) {
        *reinterpret_cast<npy_bool *>(data[2] + index * strides[2]) =
            read(data[0] + index * strides[0]) < read(data[1] + index * strides[1]);
    }
}

int register_loop(PyObject *umath, const char *name, PyUFuncGenericFunction loop,
                  const int *types)
{
    PyObject *ufunc = PyObject_GetAttrString(umath, name);
    const int failed = !ufunc || PyUFunc_RegisterLoopForType(reinterpret_cast<PyUFuncObject *>(ufunc),
                                                             type_number, loop, types, nullptr);
    Py_XDECREF(ufunc);
    return failed ? -1 : 0;
}

PyArray_ArrFuncs functions;
PyArray_DescrProto proto;

int register_dtype(PyObject *module)
{
    scalar_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&scalar_spec));
    if (!scalar_type) {
        return -1;
    }
    PyArray_InitArrFuncs(&functions);
    functions.getitem = getitem;
    functions.setitem = setitem;
    functions.copyswap = copyswap;
    functions.copyswapn = copyswapn;
    functions.compare = compare;
    functions.nonzero = nonzero;
    functions.fill = fill;
    Py_SET_TYPE(&proto, &PyArrayDescr_Type);
    proto.typeobj = scalar_type;
    proto.kind = 'V';
    proto.type = 'c';
    proto.byteorder = '=';
    // NumPy never hands out memory that it has not zeroed, holds the GIL in loops, and asks
    // getitem and setitem instead of looking at the bytes.
    proto.flags = NPY_NEEDS_INIT | NPY_NEEDS_PYAPI | NPY_USE_GETITEM | NPY_USE_SETITEM;
    proto.elsize = DENIZEN_CELL_SIZE;
    proto.alignment = DENIZEN_CELL_ALIGN;
    proto.f = &functions;
    type_number = PyArray_RegisterDataType(&proto);
    if (type_number < 0) {
        return -1;
    }
    PyArray_Descr *descr = PyArray_DescrFromType(type_number);
    PyArray_Descr *real = PyArray_DescrFromType(NPY_DOUBLE);
    if (!descr || !real || PyArray_RegisterCastFunc(real, type_number, from_double) ||
        PyArray_RegisterCanCast(real, type_number, NPY_NOSCALAR) ||
        PyArray_RegisterCastFunc(descr, NPY_DOUBLE, to_double) ||
        PyArray_RegisterCastFunc(descr, NPY_BOOL, to_bool)) {
        return -1;
    }
    const int same[] = {type_number, type_number, type_number};
    const int truth[] = {type_number, type_number, NPY_BOOL};
    PyObject *umath = PyImport_ImportModule("numpy");
    const int failed = !umath || register_loop(umath, "add", add, same) ||
                       register_loop(umath, "negative", negative, same) ||
                       register_loop(umath, "less", less, truth);
    Py_XDECREF(umath);
    if (failed || PyModule_AddObjectRef(module, "Number", reinterpret_cast<PyObject *>(scalar_type))) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject *>(descr));
}

// ---- for the tests ------------------------------------------------------------------------------

PyObject *counters(PyObject *, PyObject *)
{
    return Py_BuildValue("LLL", built, gone, broken);
}

PyObject *sweep(PyObject *, PyObject *) { return PyLong_FromSize_t(api->sweep(counted)); }

PyObject *fail_once(PyObject *, PyObject *)
{
    refuse_next = true;
    Py_RETURN_NONE;
}

// The first byte of an array's data after `offset`, with "O&"-less checks: tests pass arrays.
void *address(PyObject *array, Py_ssize_t offset)
{
    return static_cast<char *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(array))) + offset;
}

PyObject *touch_at(PyObject *, PyObject *arguments)
{
    PyObject *array;
    Py_ssize_t offset;
    int without_default;
    if (!PyArg_ParseTuple(arguments, "O!np", &PyArray_Type, &array, &offset, &without_default)) {
        return nullptr;
    }
    void *object;
    if (api->touch(address(array, offset), without_default ? exacting : counted, &object)) {
        return nullptr;
    }
    return PyFloat_FromDouble(static_cast<Counted *>(object)->value());
}

PyObject *store_exacting(PyObject *, PyObject *arguments)
{
    PyObject *array;
    double value;
    if (!PyArg_ParseTuple(arguments, "O!d", &PyArray_Type, &array, &value)) {
        return nullptr;
    }
    const Counted number(value);
    if (api->store(address(array, 0), exacting, &number)) {
        return nullptr;
    }
    Py_RETURN_NONE;
}

PyObject *in_segment(PyObject *, PyObject *array)
{
    return PyBool_FromLong(PyArray_Check(array) && api->segment_of(address(array, 0)));
}

PyMethodDef methods[] = {
    {"counters", counters, METH_NOARGS, "Objects built, gone, and found broken."},
    {"sweep", sweep, METH_NOARGS, "Destroys the objects in NumPy's buffers; how many."},
    {"fail_once", fail_once, METH_NOARGS, "The next construction or assignment fails."},
    {"touch_at", touch_at, METH_VARARGS, "Touches (array, offset, without_default)."},
    {"store_exacting", store_exacting, METH_VARARGS, "Stores (array, value) without a default."},
    {"in_segment", in_segment, METH_O, "Whether an array's data is in a segment."},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "legacy", nullptr, -1, methods,
                          nullptr, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit_legacy()
{
    api = denizen_import();
    if (!api) {
        return nullptr;
    }
    import_array();
    import_umath();
    PyObject *module = PyModule_Create(&definition);
    if (!module || register_types(module) || register_dtype(module)) {
        Py_XDECREF(module);
        return nullptr;
    }
    return module;
}
