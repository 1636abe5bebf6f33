// The module `real_loop`: what bench.py does to arrays, done to a std::vector<mp::real> by a plain
// C++ loop. It knows nothing of denizen.
//
// Each function takes a list of floats and a precision in bits, makes vectors of them, does the
// work `repeats` times and returns the processor time of the fastest run in seconds.
#include <Python.h>

#include "real.hpp"

#include <ctime>
#include <optional>

using mp::real;

namespace {

using numbers = std::vector<real>;

double now()
{
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Times `work`; `clean` runs afterwards, untimed.
template <typename Work, typename Clean>
double fastest(Py_ssize_t repeats, Work &&work, Clean &&clean)
{
    double best = 1e300;
    for (Py_ssize_t index = 0; index < repeats; ++index) {
        const double start = now();
        work();
        best = std::min(best, now() - start);
        clean();
    }
    return best;
}

double construct(const numbers &x, const numbers &, Py_ssize_t repeats)
{
    std::optional<numbers> made;
    return fastest(
        repeats, [&] { made.emplace(x.size(), x.front()); }, [&] { made.reset(); });
}

double copy(const numbers &x, const numbers &, Py_ssize_t repeats)
{
    std::optional<numbers> made;
    return fastest(
        repeats, [&] { made.emplace(x); }, [&] { made.reset(); });
}

double add(const numbers &x, const numbers &y, Py_ssize_t repeats)
{
    numbers sum;
    return fastest(
        repeats,
        [&] {
            sum.reserve(x.size());
            for (std::size_t index = 0; index < x.size(); ++index) {
                sum.push_back(x[index] + y[index]);
            }
        },
        [&] { numbers().swap(sum); });
}

double add_out(const numbers &x, const numbers &y, Py_ssize_t repeats)
{
    numbers sum(x);
    return fastest(
        repeats,
        [&] {
            for (std::size_t index = 0; index < x.size(); ++index) {
                mp::add(sum[index], x[index], y[index]);
            }
        },
        [] {});
}

double sum(const numbers &x, const numbers &, Py_ssize_t repeats)
{
    real total;
    return fastest(
        repeats,
        [&] {
            total = real();
            for (const real &value : x) {
                mp::add(total, total, value);
            }
        },
        [] {});
}

double less(const numbers &x, const numbers &y, Py_ssize_t repeats)
{
    std::vector<char> result(x.size());
    return fastest(
        repeats,
        [&] {
            for (std::size_t index = 0; index < x.size(); ++index) {
                result[index] = x[index] < y[index];
            }
        },
        [] {});
}

double sort(const numbers &x, const numbers &, Py_ssize_t repeats)
{
    numbers sorted(x);
    return fastest(
        repeats, [&] { std::stable_sort(sorted.begin(), sorted.end()); },
        [&] { sorted = x; });
}

double destroy(const numbers &x, const numbers &, Py_ssize_t repeats)
{
    std::optional<numbers> made(x);
    return fastest(
        repeats, [&] { made.reset(); }, [&] { made.emplace(x); });
}

numbers from_list(PyObject *list, Py_ssize_t precision)
{
    numbers made;
    for (Py_ssize_t index = 0; index < PyList_Size(list); ++index) {
        const real value(PyFloat_AsDouble(PyList_GetItem(list, index)));
        made.push_back(value.with_precision(precision) / real(3.0));
    }
    return made;
}

template <double (*Work)(const numbers &, const numbers &, Py_ssize_t)>
PyObject *run(PyObject *, PyObject *arguments)
{
    PyObject *x = nullptr;
    PyObject *y = nullptr;
    Py_ssize_t precision = 0;
    Py_ssize_t repeats = 0;
    if (!PyArg_ParseTuple(arguments, "O!O!nn", &PyList_Type, &x, &PyList_Type, &y, &precision,
                          &repeats)) {
        return nullptr;
    }
    double seconds = 0;
    try {
        seconds = Work(from_list(x, precision), from_list(y, precision), repeats);
    } catch (const std::exception &error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
        return nullptr;
    }
    return PyErr_Occurred() != nullptr ? nullptr : PyFloat_FromDouble(seconds);
}

PyMethodDef functions[] = {
    {"construct", run<construct>, METH_VARARGS, "std::vector(n, x)"},
    {"copy", run<copy>, METH_VARARGS, "std::vector(x)"},
    {"add", run<add>, METH_VARARGS, "sum.push_back(x + y)"},
    {"add_out", run<add_out>, METH_VARARGS, "add(sum, x, y)"},
    {"sum", run<sum>, METH_VARARGS, "add(sum, sum, x)"},
    {"less", run<less>, METH_VARARGS, "x < y"},
    {"sort", run<sort>, METH_VARARGS, "std::stable_sort"},
    {"destroy", run<destroy>, METH_VARARGS, "~vector"},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "real_loop", "The plain C++ that arrays of reals are compared with.",
    -1,                    functions,   nullptr,
    nullptr,               nullptr,     nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit_real_loop() { return PyModule_Create(&definition); }
