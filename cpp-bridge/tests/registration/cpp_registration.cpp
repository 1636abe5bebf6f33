/* Registrations that fail in each way that the builder lets through, with callables that count
 * themselves; and one for a library that is closed. */
#include <denizen/denizen.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace {

long captures;

/* What a callable owns: counted, with something on the heap and a Python object. */
class capture
{
public:
    explicit capture(PyObject *object) : object_(object), text_(200, 'x')
    {
        Py_INCREF(object_);
        captures++;
    }
    capture(const capture &other) : object_(other.object_), text_(other.text_)
    {
        Py_INCREF(object_);
        captures++;
    }
    capture &operator=(const capture &) = delete;
    ~capture()
    {
        captures--;
        Py_DECREF(object_);
    }

private:
    PyObject *object_;
    std::string text_;
};

struct number {
    long value = 0;
    number() = default;
    explicit number(long start) : value(start) {}
    ~number() {} /* not relocatable by itself: boxed */
    number(const number &) = default;
    number &operator=(const number &) = default;
    friend number operator+(const number &x, const number &y) { return number(x.value + y.value); }
    friend bool operator<(const number &x, const number &y) { return x.value < y.value; }
};
struct late_number : number {
    using number::number;
};
struct closed_number : number {
    using number::number;
};

template <class T>
denizen::element<T> description(const char *name, PyObject *object)
{
    const capture held(object);
    denizen::element<T> builder(name);
    builder.ordering()
        .default_with([held] { return T(7); })
        .text([held](const T &x) { return std::to_string(x.value); })
        .zero([held] { return T(0); })
        .template cast_to<double>(denizen::casting::same_kind,
                                  [held](const T &x) { return static_cast<double>(x.value); })
        .loop("negative", [held](const T &x) { return T(-x.value); })
        .loop("add", [held](const T &x, const T &y) { return T(x.value + y.value); });
    return builder;
}

/* fail(which, module, object): registers what cannot be. */
PyObject *fail(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        const char *text;
        PyObject *module, *object;
        if (!PyArg_ParseTuple(arguments, "sOO", &text, &module, &object)) {
            throw denizen::python_error();
        }
        const std::string which = text;
        if (which == "late") {
            description<late_number>("Late", object).add_to(module);
            Py_RETURN_NONE;
        }
        denizen::element<number> builder = description<number>("Number", object);
        if (which == "ufunc") {
            builder.loop("no_such_ufunc", [](const number &x) { return number(x.value); });
        } else if (which == "operands") {
            builder.loop("add", [](const number &x) { return number(x.value); });
        } else if (which == "identity") {
            builder.identity("no_such_ufunc", [] { return number(1); });
        } else if (which == "class") {
            builder.python_class(
                reinterpret_cast<PyObject *>(&PyLong_Type),
                [](const number &x) { return PyLong_FromLong(x.value); },
                [](PyObject *) { return number(1); });
        } else if (which == "name") {
            builder.module("no..module");
        } else if (which == "taken") {
            builder.module("denizen");
            denizen::element<number> integer = description<number>("Integer", object);
            integer.module("denizen").add_to(module);
        } else if (which == "no cast") {
            denizen::element<number>("Number").float_functions().add_to(module);
        }
        builder.add_to(module);
        Py_RETURN_NONE;
    });
}

PyObject *live_captures(PyObject *, PyObject *)
{
    return PyLong_FromLong(captures);
}

PyMethodDef methods[] = {{"fail", fail, METH_VARARGS, nullptr},
                         {"captures", live_captures, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "cpp_registration", nullptr, -1, methods, nullptr, nullptr, nullptr,
    nullptr,
};

} // namespace

PyMODINIT_FUNC PyInit_cpp_registration(void)
{
    return PyModule_Create(&definition);
}

/* For ctypes, which opens this as a library instead of importing it. */
extern "C" __attribute__((visibility("default"))) int register_closed(PyObject *module)
{
    const int status = denizen::guard([&] {
        description<closed_number>("Number", Py_None).thread_safe().add_to(module);
    });
    return status;
}
