/*
 * Five types of the standard library as elements of NumPy arrays, in an extension module without a
 * binding library: String (std::string), Doubles (std::vector<double>), SharedPoint
 * (std::shared_ptr<Point>), OwnedPoint (std::unique_ptr<Point>, which only moves) and Function
 * (std::function<double(double)>). Each add_... function is all that a type needs.
 */
#include <denizen/denizen.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "point.hpp"

namespace {

using Doubles = std::vector<double>;
using SharedPoint = std::shared_ptr<Point>;
using OwnedPoint = std::unique_ptr<Point>;
using Function = std::function<double(double)>;

/* A reference to a Python object. The last copy to go lets the object go, with the GIL held: the
 * types that keep one do not say thread_safe(). */
using owned = std::shared_ptr<PyObject>;

owned steal(PyObject *object)
{
    if (object == nullptr) {
        throw denizen::python_error();
    }
    return owned(object, [](PyObject *last) { Py_DECREF(last); });
}

double number(PyObject *object)
{
    const double value = PyFloat_AsDouble(object);
    if (value == -1 && PyErr_Occurred()) {
        throw denizen::python_error();
    }
    return value;
}

/* The numbers of a list or tuple. Nothing else is a sequence here: a str would be one too. */
Doubles numbers(PyObject *object)
{
    if (!PyList_Check(object) && !PyTuple_Check(object)) {
        throw denizen::error(denizen::error_kind::type, "expected a list or tuple of numbers");
    }
    Doubles values;
    /* A number's __float__ may change the list: its size is asked for each time. */
    for (Py_ssize_t index = 0; index < PySequence_Size(object); index++) {
        values.push_back(number(steal(PySequence_GetItem(object, index)).get()));
    }
    return values;
}

// ---- std::string: boxed, as short ones of libstdc++ point into themselves --------------------

std::string repeated(const std::string &text, std::int64_t times)
{
    if (times > 0 && text.size() > text.max_size() / static_cast<std::size_t>(times)) {
        throw std::overflow_error("the repeated text is too long");
    }
    std::string result;
    for (std::int64_t time = 0; time < times && !text.empty(); time++) {
        result += text;
    }
    return result;
}

std::int64_t integer(const std::string &text)
{
    std::int64_t value = 0;
    const char *const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure == std::errc::result_out_of_range) {
        throw std::overflow_error("'" + text + "' does not fit into 64 bits");
    }
    if (failure != std::errc() || stop != end) {
        throw std::invalid_argument("'" + text + "' is not an integer");
    }
    return value;
}

std::int64_t length(const std::string &text) { return static_cast<std::int64_t>(text.size()); }

void add_string(PyObject *module)
{
    denizen::element<std::string>("String")
        .text()
        .ordering()
        .hash()
        .nonzero([](const std::string &text) { return !text.empty(); })
        .loop("add", [](const std::string &x, const std::string &y) { return x + y; })
        .zero(std::string())
        .loop("multiply", repeated)
        .loop("numpy.strings:str_len", length)
        .cast_from<std::int64_t>(denizen::casting::same_kind,
                                 [](std::int64_t value) { return std::to_string(value); })
        .cast_to<std::int64_t>(denizen::casting::unsafe, integer)
        .add_to(module);
}

// ---- std::vector<double>: inline, zero bytes are the empty vector -------------------------------

template <class Operation>
Doubles each(const Doubles &x, const Doubles &y, Operation operation)
{
    if (x.size() != y.size()) {
        throw std::invalid_argument("vectors of " + std::to_string(x.size()) + " and " +
                                    std::to_string(y.size()) + " numbers");
    }
    Doubles result(x.size());
    std::transform(x.begin(), x.end(), y.begin(), result.begin(), operation);
    return result;
}

Doubles sum(const Doubles &x, const Doubles &y) { return each(x, y, std::plus<>()); }
Doubles difference(const Doubles &x, const Doubles &y) { return each(x, y, std::minus<>()); }
Doubles product(const Doubles &x, const Doubles &y) { return each(x, y, std::multiplies<>()); }

Doubles scaled(Doubles x, double factor)
{
    for (double &value : x) {
        value *= factor;
    }
    return x;
}

std::string doubles_text(const Doubles &x)
{
    std::string text = "[";
    for (const double value : x) {
        char buffer[32];
        PyOS_snprintf(buffer, sizeof buffer, "%s%.17g", text.size() > 1 ? ", " : "", value);
        text += buffer;
    }
    return text + "]";
}

std::string save_doubles(const Doubles &x)
{
    return x.empty() ? std::string()
                     : std::string(reinterpret_cast<const char *>(x.data()),
                                   x.size() * sizeof(double));
}

Doubles load_doubles(std::string_view bytes)
{
    if (bytes.size() % sizeof(double) != 0) {
        throw std::invalid_argument("bytes that are no doubles");
    }
    Doubles x(bytes.size() / sizeof(double));
    if (!x.empty()) {
        std::memcpy(x.data(), bytes.data(), bytes.size());
    }
    return x;
}

void add_doubles(PyObject *module)
{
    denizen::element<Doubles>("Doubles")
        .from_python(numbers)
        .text(doubles_text)
        .ordering()
        .loop("add", sum)
        .loop("subtract", difference)
        .loop("multiply", product)
        .loop("multiply", [](const Doubles &x, double factor) { return scaled(x, factor); })
        .codec(save_doubles, load_doubles)
        .heap_bytes([](const Doubles &x) { return x.capacity() * sizeof(double); })
        .add_to(module);
}

// ---- pointers: inline, zero bytes are null ----------------------------------------------------

template <class Pointer>
std::string point_text(const Pointer &point)
{
    if (point == nullptr) {
        return "null";
    }
    return doubles_text({point->x, point->y});
}

/* A point of its own from a pair of numbers; null from None. */
OwnedPoint make_point(PyObject *object)
{
    if (object == Py_None) {
        return nullptr;
    }
    const Doubles pair = numbers(object);
    if (pair.size() != 2) {
        throw std::invalid_argument("a point is two numbers");
    }
    return std::make_unique<Point>(pair[0], pair[1]);
}

/* Null comes first, then the distance from the origin decides. */
int by_distance(const OwnedPoint &left, const OwnedPoint &right)
{
    const double a = left == nullptr ? -1 : std::hypot(left->x, left->y);
    const double b = right == nullptr ? -1 : std::hypot(right->x, right->y);
    return (a > b) - (a < b);
}

void add_points(PyObject *module)
{
    denizen::element<SharedPoint>("SharedPoint")
        .from_python([](PyObject *object) { return SharedPoint(make_point(object)); })
        .text(point_text<SharedPoint>)
        .equality()
        .hash()
        .nonzero()
        .add_to(module);
    denizen::element<OwnedPoint>("OwnedPoint")
        .from_python(make_point)
        .text(point_text<OwnedPoint>)
        .compare(by_distance)
        .nonzero()
        .add_to(module);
}

// ---- std::function: an operator, which is composed and applied by `*` ---------------------------

Function from_callable(PyObject *object)
{
    if (!PyCallable_Check(object)) {
        throw denizen::error(denizen::error_kind::type, "expected a callable");
    }
    Py_INCREF(object);
    return [callable = steal(object)](double x) {
        return number(steal(PyObject_CallFunction(callable.get(), "d", x)).get());
    };
}

Function composed(const Function &outer, const Function &inner)
{
    return [outer, inner](double x) { return outer(inner(x)); };
}

void add_function(PyObject *module)
{
    denizen::element<Function>("Function")
        .from_python(from_callable)
        .needs_gil()
        .nonzero()
        .loop("multiply", composed)
        /* By value: f may call Python, which may put another function where f lies meanwhile. */
        .loop("multiply", [](Function f, double x) { return f(x); })
        .add_to(module);
}

// ---- functions of the module --------------------------------------------------------------------

PyObject *live_points(PyObject *, PyObject *) { return PyLong_FromLong(Point::live); }

PyObject *use_counts(PyObject *, PyObject *array)
{
    return denizen::guard([&] {
        const denizen::view<const SharedPoint> points(array);
        const owned list = steal(PyList_New(0));
        for (const SharedPoint &point : points) {
            if (PyList_Append(list.get(), steal(PyLong_FromLong(point.use_count())).get()) != 0) {
                throw denizen::python_error();
            }
        }
        Py_INCREF(list.get());
        return list.get();
    });
}

/* The points, moved from a vector of C++ into an array; the first is null. */
PyObject *owned_points(PyObject *, PyObject *count)
{
    return denizen::guard([&] {
        std::vector<OwnedPoint> points;
        for (int index = 0; index < number(count); index++) {
            points.push_back(index == 0 ? nullptr : std::make_unique<Point>(index, 0));
        }
        return denizen::take(std::move(points));
    });
}

PyObject *values(PyObject *, PyObject *scalar)
{
    return denizen::guard([&] {
        const auto x = denizen::from_python<Doubles>(scalar);
        const owned list = steal(PyList_New(0));
        for (const double value : x) {
            if (PyList_Append(list.get(), steal(PyFloat_FromDouble(value)).get()) != 0) {
                throw denizen::python_error();
            }
        }
        Py_INCREF(list.get());
        return list.get();
    });
}

PyObject *power(PyObject *, PyObject *exponent)
{
    return denizen::guard([&] {
        const double p = number(exponent);
        return denizen::to_python(Function([p](double x) { return std::pow(x, p); }));
    });
}

PyMethodDef functions[] = {
    {"live_points", live_points, METH_NOARGS, "How many points live."},
    {"use_counts", use_counts, METH_O, "use_counts(array): how many share each SharedPoint."},
    {"owned_points", owned_points, METH_O, "owned_points(n): null, (1, 0), .. (n - 1, 0)."},
    {"values", values, METH_O, "values(x): the numbers of Doubles as a list."},
    {"power", power, METH_O, "power(p): the Function x**p, made in C++."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "standard", "Types of the C++ standard library as elements.", -1,
    functions, nullptr, nullptr, nullptr, nullptr,
};

} // namespace

PyMODINIT_FUNC PyInit_standard()
{
    return denizen::guard([]() -> PyObject * {
        const owned module = steal(PyModule_Create(&definition));
        add_string(module.get());
        add_doubles(module.get());
        add_points(module.get());
        add_function(module.get());
        Py_INCREF(module.get());
        return module.get();
    });
}
