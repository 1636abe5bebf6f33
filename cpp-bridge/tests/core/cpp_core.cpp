/*
 * An extension module on the bare C API of Python: element types of all sorts, described with
 * denizen.hpp. test_core.py uses them.
 */
#include "types.hpp"

namespace {

using denizen::casting;

void add_heap_number(PyObject *module)
{
    denizen::element<heap_number>("HeapNumber")
        .arithmetic()
        .ordering()
        .text([](const heap_number &x) { return std::to_string(x.get()); },
              [](std::string_view text) { return heap_number(std::stod(std::string(text))); })
        .cast<double>()
        .cast<long>()
        .hash([](const heap_number &x) { return std::hash<double>{}(x.get()); })
        .nonzero([](const heap_number &x) { return x.get() != 0; })
        .heap_bytes([](const heap_number &) { return sizeof(double); })
        .zero(heap_number(0))
        .one([] { return heap_number(1); })
        .linear_algebra()
        .loop("sqrt", [](heap_number &out, const heap_number &x) { out.set(std::sqrt(x.get())); })
        .loop("square", [](const heap_number &x) { return heap_number(x.get() * x.get()); })
        .loop("hypot",
              [](heap_number &out, const heap_number &x, const heap_number &y) {
                  /* Wrong where out is x or y: the loop has to keep them apart. */
                  out.set(x.get() * x.get());
                  out.set(std::sqrt(out.get() + y.get() * y.get()));
              })
        .loop("copysign",
              [](heap_number &out, const heap_number &x, const heap_number &y) {
                  out.set(std::copysign(x.get(), y.get()));
              },
              denizen::may_alias)
        .loop("power", [](const heap_number &x, double y) {
            return heap_number(std::pow(x.get(), y));
        })
        .loop("power", [](double x, const heap_number &y) {
            return heap_number(std::pow(x, y.get()));
        })
        .loop("isnan", [](const heap_number &x) { return std::isnan(x.get()); })
        .loop("spacing", [](const heap_number &x) -> double { return x.get() / 2; })
        .loop("divmod",
              [](const heap_number &x, const heap_number &y) {
                  const double q = std::floor(x.get() / y.get());
                  return std::make_pair(heap_number(q), heap_number(x.get() - q * y.get()));
              })
        .loop("modf",
              [](heap_number &fraction, heap_number &whole, const heap_number &x) {
                  whole.set(std::trunc(x.get()));
                  fraction.set(x.get() - whole.get());
              })
        .loop("frexp",
              [](const heap_number &x) {
                  int exponent;
                  const double mantissa = std::frexp(x.get(), &exponent);
                  return std::make_tuple(heap_number(mantissa), exponent);
              })
        .loop<heap_number(const heap_number &)>("absolute",
                                                [](const auto &x) {
                                                    return heap_number(std::fabs(x.get()));
                                                })
        .loop("exp",
              [](const heap_number &x) {
                  if (x.get() > 700) {
                      throw std::overflow_error("exp of a large number");
                  }
                  return heap_number(std::exp(x.get()));
              })
        .loop("log",
              [](const heap_number &x) {
                  if (x.get() < 0) {
                      throw std::domain_error("logarithm of a negative number");
                  }
                  if (x.get() == 0) {
                      throw 42; /* not a std::exception */
                  }
                  return heap_number(std::log(x.get()));
              })
        .loop("isinf", [](const heap_number &) { return PyGILState_Check() == 1; })
        .documentation("A number on the heap.")
        .thread_safe()
        .add_to(module);
}

/* Every built-in type, and another element type. */
void add_scalars(PyObject *module)
{
    denizen::element<lazy_number>("LazyNumber")
        .arithmetic()
        .loop("multiply", [](const lazy_number &x, int y) { return lazy_number(x.value * y); })
        /* Returns an expression. */
        .loop("logaddexp", [](const lazy_number &x, const lazy_number &y) { return x + y; })
        .loop("hypot",
              [](const heap_number &x, const lazy_number &y) {
                  return heap_number(std::hypot(x.get(), y.value));
              })
        .loop("isinf", [](const lazy_number &) { return PyGILState_Check() == 1; })
        .float_functions()
        .cast_from<double>(casting::safe)
        .cast_from<std::complex<float>>(
            casting::unsafe,
            [](lazy_number &out, const std::complex<float> &z) { out.value = z.real(); })
        .cast_from<heap_number>(casting::same_kind,
                                [](const heap_number &x) { return lazy_number(x.get()); })
        .cast_to<heap_number>(casting::safe,
                              [](const lazy_number &x) { return heap_number(x.value); })
        .cast_to<double>(casting::same_kind, [](const lazy_number &x) { return x.value; })
        .cast_to<long double>(casting::safe,
                              [](long double &out, const lazy_number &x) { out = x.value; })
        .cast_to<std::complex<double>>(
            casting::safe, [](const lazy_number &x) { return std::complex<double>(x.value, 1); })
        .cast_to<bool>(casting::unsafe, [](const lazy_number &x) { return x.value != 0; })
        .add_to(module);
}

template <class U>
std::complex<U> to_complex(const number &x)
{
    return {static_cast<U>(x.value), U(0)};
}

/* Casts by the type's own conversions. */
void add_number(PyObject *module)
{
    denizen::element<number>("Number")
        .ordering()
        .text()
        .cast<bool>()
        .cast<signed char>()
        .cast<unsigned char>()
        .cast<short>()
        .cast<unsigned short>()
        .cast<int>()
        .cast<unsigned>()
        .cast<long>()
        .cast<unsigned long>()
        .cast<float>()
        .cast<double>()
        .cast<long double>()
        .cast_to<std::complex<float>>(casting::unsafe, to_complex<float>)
        .cast_to<std::complex<double>>(casting::unsafe, to_complex<double>)
        .cast_to<std::complex<long double>>(casting::unsafe, to_complex<long double>)
        .compare([](const number &x, const number &y) -> std::optional<int> {
            if (std::isnan(x.value) || std::isnan(y.value)) {
                return std::nullopt;
            }
            /* From large to small. */
            return x.value < y.value ? 1 : y.value < x.value ? -1 : 0;
        })
        .add_to(module);
}

/* Nothing but its life. */
struct plain : live_count<plain> {};

void add_odd_ones(PyObject *module)
{
    denizen::element<plain>("Plain").add_to(module);

    denizen::element<ticket>("Ticket")
        .loop("add",
              [](const ticket &x, const ticket &y) { return ticket(*x.number + *y.number); })
        .cast_from<long>(casting::safe, [](long n) { return ticket(static_cast<int>(n)); })
        .cast_to<long>(casting::safe, [](const ticket &t) { return static_cast<long>(*t.number); })
        .add_to(module);

    denizen::element<coordinate>("Coordinate")
        .equality()
        .loop("negative", [](coordinate &out, const coordinate &x) { out.value = -x.value; })
        .loop("add",
              [](const coordinate &x, const coordinate &y) {
                  return coordinate(x.value + y.value);
              })
        .cast_from<long>(casting::safe, [](long n) { return coordinate(static_cast<int>(n)); })
        .cast_to<long>(casting::safe, [](const coordinate &c) -> long { return c.value; })
        .add_to(module);

    denizen::element<anchored>("Anchored")
        .arithmetic()
        .compare([](const anchored &x, const anchored &y) {
            bomb::tick();
            return x.read() - y.read();
        })
        .sort_key([](const anchored &x) { return x.read() / 4; })
        .cast_from<long>(casting::safe, [](long n) { return anchored(static_cast<int>(n)); })
        .cast_to<long>(casting::safe, [](const anchored &x) -> long { return x.read(); })
        .add_to(module);

    denizen::element<wide>("Wide")
        .arithmetic()
        .cast_from<double>(casting::safe)
        .cast_to<double>(casting::safe, [](const wide &x) { return x.values[0]; })
        .add_to(module);

    denizen::element<hot_potato>("HotPotato")
        .cast_from<long>(casting::safe, [](long n) { return hot_potato(static_cast<int>(n)); })
        .cast_to<long>(casting::safe, [](const hot_potato &x) -> long { return x.value; })
        .add_to(module);
}

void add_standard(PyObject *module)
{
    denizen::element<std::string>("String")
        .loop("add", [](const std::string &x, const std::string &y) { return x + y; })
        .loop("multiply",
              [](const std::string &x, long n) {
                  std::string result;
                  for (; n > 0; n--) {
                      result += x;
                  }
                  return result;
              })
        .ordering()
        .text()
        .hash()
        .heap_bytes([](const std::string &x) { return x.capacity() < 16 ? 0 : x.capacity() + 1; })
        .add_to(module);

    using vector = std::vector<double>;
    denizen::element<vector>("Vector")
        .ordering()
        .codec(
            [](const vector &x) {
                const auto *bytes = reinterpret_cast<const std::uint8_t *>(x.data());
                return std::vector<std::uint8_t>(bytes, bytes + x.size() * sizeof(double));
            },
            [](const std::uint8_t *bytes, std::size_t size) {
                if (size % sizeof(double) != 0) {
                    throw std::invalid_argument("bytes that are no doubles");
                }
                vector x(size / sizeof(double));
                if (!x.empty()) {
                    std::memcpy(x.data(), bytes, size);
                }
                return x;
            })
        .from_python([](PyObject *object) {
            PyObject *items = PySequence_Fast(object, "a vector is made from a sequence");
            if (items == nullptr) {
                throw denizen::python_error();
            }
            vector x;
            for (Py_ssize_t index = 0; index < PySequence_Fast_GET_SIZE(items); index++) {
                const double item = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(items, index));
                if (item == -1 && PyErr_Occurred()) {
                    Py_DECREF(items);
                    throw denizen::python_error();
                }
                x.push_back(item);
            }
            Py_DECREF(items);
            return x;
        })
        .text([](const vector &x) { return "vector of " + std::to_string(x.size()); })
        .loop("add",
              [](const vector &x, const vector &y) {
                  if (x.size() != y.size()) {
                      throw std::invalid_argument("vectors of different lengths");
                  }
                  vector sum(x);
                  for (std::size_t index = 0; index < x.size(); index++) {
                      sum[index] += y[index];
                  }
                  return sum;
              })
        .add_to(module);
}

/* Values of this type are objects of a subclass of int in Python. */
struct boxed_int {
    long value = 7;
};

void add_python_class(PyObject *module)
{
    /* A subclass of int, kept for good. */
    static PyObject *type = PyObject_CallFunction(
        reinterpret_cast<PyObject *>(&PyType_Type), "s(O){ss}", "BoxedInt",
        reinterpret_cast<PyObject *>(&PyLong_Type), "__module__", "cpp_core");
    if (type == nullptr) {
        throw denizen::python_error();
    }
    denizen::element<boxed_int>("BoxedInt")
        .python_class(
            type,
            [](const boxed_int &x) {
                if (x.value == -5) {
                    PyErr_SetString(PyExc_KeyError, "five");
                    return static_cast<PyObject *>(nullptr);
                }
                return PyObject_CallFunction(type, "l", x.value);
            },
            [](PyObject *object) {
                const long value = PyLong_AsLong(object);
                if (value == -1 && PyErr_Occurred()) {
                    throw denizen::python_error();
                }
                return boxed_int{value};
            })
        .default_with([] { return boxed_int{3}; })
        .add_to(module);
}

long long live(const std::string &name)
{
    if (name == "HeapNumber") return heap_number::built - heap_number::gone;
    if (name == "LazyNumber") return lazy_number::live();
    if (name == "Ticket") return ticket::live();
    if (name == "Coordinate") return coordinate::live();
    if (name == "Anchored") return anchored::live();
    if (name == "Plain") return plain::live();
    if (name == "Wide") return wide::live();
    if (name == "HotPotato") return hot_potato::live();
    throw std::out_of_range("no such type: " + name);
}

} // namespace

extern "C" {

static PyObject *py_live(PyObject *, PyObject *name)
{
    return denizen::guard([&]() -> PyObject * {
        const char *text = PyUnicode_AsUTF8(name);
        if (text == nullptr) {
            throw denizen::python_error();
        }
        return PyLong_FromLongLong(live(text));
    });
}

/* Copies and copy assignments of heap numbers so far. */
static PyObject *py_copies(PyObject *, PyObject *)
{
    return Py_BuildValue("LL", static_cast<long long>(heap_number::copied),
                         static_cast<long long>(heap_number::assigned));
}

static PyObject *py_fuse(PyObject *, PyObject *length)
{
    return denizen::guard([&]() -> PyObject * {
        bomb::left = PyLong_AsLongLong(length);
        Py_RETURN_NONE;
    });
}

/* Raises a C++ exception by number. */
static PyObject *py_throw(PyObject *, PyObject *number)
{
    return denizen::guard([&]() -> PyObject * {
        switch (PyLong_AsLong(number)) {
        case 0: throw std::bad_alloc();
        case 1: throw std::out_of_range("out");
        case 2: throw std::invalid_argument("invalid");
        case 3: throw std::domain_error("domain");
        case 4: throw std::length_error("length");
        case 5: throw std::range_error("range");
        case 6: throw std::overflow_error("over");
        case 7: throw std::logic_error("logic");
        case 8: throw 8;
        case 9: throw denizen::error(denizen::error_kind::not_implemented, "not here");
        case 10: throw denizen::error(denizen::error_kind::vacant, "nobody home");
        case 11:
            PyErr_SetString(PyExc_LookupError, "mine");
            throw denizen::python_error();
        case 12: throw std::runtime_error(std::string(2000, 'x'));
        default: throw denizen::python_error();
        }
    });
}

/* Registers types whose promises are false. */
static PyObject *py_add_liar(PyObject *module, PyObject *number)
{
    return denizen::guard([&]() -> PyObject * {
        switch (PyLong_AsLong(number)) {
        case 0: denizen::element<liar>("Liar").add_to(module); break;
        case 1: denizen::element<zero_liar>("ZeroLiar").add_to(module); break;
        case 2: denizen::element<default_liar>("DefaultLiar").add_to(module); break;
        case 3:
            denizen::element<liar, denizen::storage::boxed>("BoxedLiar").add_to(module);
            break;
        case 4: denizen::element<heap_number>("HeapNumber").add_to(module); break;
        case 5: denizen::element<heap_number>("OtherNumber").add_to(module); break;
        case 6: denizen::element<default_liar>("Tagged").storage<denizen::storage::tagged>()
                .add_to(module);
            break;
        case 7:
            denizen::element<zero_liar, denizen::storage::boxed>("Friend")
                .loop("add", [](const zero_liar &x, const stranger &) { return x; })
                .add_to(module);
            break;
        case 8:
            denizen::element<unset>("Unset")
                .cast_to<double>(denizen::casting::safe, [](const unset &x) { return x.value; })
                .add_to(module);
            break;
        default: denizen::element<wide>("not a name").module("elsewhere").add_to(module);
        }
        Py_RETURN_NONE;
    });
}

static PyObject *py_available(PyObject *, PyObject *)
{
    return PyBool_FromLong(denizen::available());
}

/* Shares heap numbers under a name, as another C++ type where asked to. */
static PyObject *py_import(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        const char *name;
        int wrong;
        if (!PyArg_ParseTuple(arguments, "si", &name, &wrong)) {
            throw denizen::python_error();
        }
        if (wrong) {
            denizen::import_element<double>(name);
        } else {
            denizen::import_element<heap_number>(name);
        }
        Py_RETURN_NONE;
    });
}

static PyMethodDef methods[] = {
    {"live", py_live, METH_O, nullptr},
    {"copies", py_copies, METH_NOARGS, nullptr},
    {"fuse", py_fuse, METH_O, nullptr},
    {"throw", py_throw, METH_O, nullptr},
    {"add_liar", py_add_liar, METH_O, nullptr},
    {"available", py_available, METH_NOARGS, nullptr},
    {"import_element", py_import, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "cpp_core", nullptr, -1, methods, nullptr, nullptr, nullptr,
    nullptr,
};

PyMODINIT_FUNC PyInit_cpp_core(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module == nullptr) {
        return nullptr;
    }
    const int status = denizen::guard([&] {
        add_heap_number(module);
        add_scalars(module);
        add_number(module);
        add_odd_ones(module);
        add_standard(module);
        add_python_class(module);
    });
    if (status != 0) {
        Py_DECREF(module);
        return nullptr;
    }
    return module;
}

} /* extern "C" */
