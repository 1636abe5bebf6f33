// The extension module `polynomials`: a type that owns heap memory as an element of NumPy arrays,
// on the bare CPython API.
//
//   polynomials.Polynomial          the scalar class and dtype; made of coefficients, x^0 first
//   polynomials.evaluate(a, x)      the values at x, as a list
//   polynomials.differentiate(a)    in place
//   polynomials.chebyshev(n)        T_0 .. T_(n-1): an array over a vector of C++, not copied
//   polynomials.powers(p, shape)    p^0, p^1, ..: a vector moved into a new array of that shape
#include <denizen/denizen.hpp>

#include <algorithm>
#include <ostream>
#include <vector>

// ---- the type, which knows nothing of Python ----------------------------------------------------

/// A polynomial with real coefficients. The highest one is not 0; the zero polynomial has none.
class polynomial {
public:
    polynomial() = default;
    explicit polynomial(std::vector<double> coefficients) : coefficients_(std::move(coefficients))
    {
        while (!coefficients_.empty() && coefficients_.back() == 0) {
            coefficients_.pop_back();
        }
    }

    const std::vector<double> &coefficients() const { return coefficients_; }

    double operator()(double x) const
    {
        double value = 0;
        for (auto c = coefficients_.rbegin(); c != coefficients_.rend(); ++c) {
            value = value * x + *c;
        }
        return value;
    }

    polynomial derivative() const
    {
        std::vector<double> result;
        for (std::size_t power = 1; power < coefficients_.size(); power++) {
            result.push_back(static_cast<double>(power) * coefficients_[power]);
        }
        return polynomial(std::move(result));
    }

    friend polynomial operator+(const polynomial &p, const polynomial &q) { return sum(p, 1, q); }
    friend polynomial operator-(const polynomial &p, const polynomial &q) { return sum(p, -1, q); }
    friend polynomial operator-(const polynomial &p) { return sum({}, -1, p); }
    friend polynomial operator*(const polynomial &p, const polynomial &q)
    {
        if (p.coefficients_.empty() || q.coefficients_.empty()) {
            return {};
        }
        std::vector<double> product(p.coefficients_.size() + q.coefficients_.size() - 1);
        for (std::size_t i = 0; i < p.coefficients_.size(); i++) {
            for (std::size_t j = 0; j < q.coefficients_.size(); j++) {
                product[i + j] += p.coefficients_[i] * q.coefficients_[j];
            }
        }
        return polynomial(std::move(product));
    }
    friend bool operator==(const polynomial &p, const polynomial &q)
    {
        return p.coefficients_ == q.coefficients_;
    }
    friend std::ostream &operator<<(std::ostream &stream, const polynomial &p)
    {
        if (p.coefficients_.empty()) {
            return stream << '0';
        }
        const char *between = "";
        for (std::size_t power = 0; power < p.coefficients_.size(); power++) {
            if (p.coefficients_[power] != 0) {
                stream << between << p.coefficients_[power];
                if (power > 0) {
                    stream << "x^" << power;
                }
                between = " + ";
            }
        }
        return stream;
    }

private:
    static polynomial sum(const polynomial &p, double sign, const polynomial &q)
    {
        std::vector<double> result(p.coefficients_);
        result.resize(std::max(result.size(), q.coefficients_.size()));
        for (std::size_t power = 0; power < q.coefficients_.size(); power++) {
            result[power] += sign * q.coefficients_[power];
        }
        return polynomial(std::move(result));
    }

    std::vector<double> coefficients_;
};

// ---- the element type ---------------------------------------------------------------------------

// A polynomial is one std::vector and nothing else, so it promises what the vector promises: its
// bytes may be moved, and zero bytes are the zero polynomial. So it is stored inline.
template <>
struct denizen::is_trivially_relocatable<polynomial>
    : denizen::is_trivially_relocatable<std::vector<double>> {};
template <>
struct denizen::zero_bytes<polynomial> : denizen::zero_bytes<std::vector<double>> {};

/// A polynomial of a number, or of a sequence of numbers, the lowest coefficient first.
static polynomial from_object(PyObject *object)
{
    // The builder turns a denizen::error into the Python exception of its kind, and a python_error,
    // which takes over the exception that is set, into that exception.
    if (PyFloat_Check(object) || PyLong_Check(object)) {
        const double constant = PyFloat_AsDouble(object);
        if (constant == -1 && PyErr_Occurred()) {
            throw denizen::python_error();
        }
        return polynomial({constant});
    }
    if (!PySequence_Check(object) || PyUnicode_Check(object)) {
        throw denizen::error(denizen::error_kind::type,
                             "a polynomial is made of a number or a sequence of coefficients");
    }
    const Py_ssize_t count = PySequence_Size(object);
    if (count < 0) {
        throw denizen::python_error();
    }
    std::vector<double> coefficients;
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *item = PySequence_GetItem(object, index);
        const double value = item == nullptr ? -1 : PyFloat_AsDouble(item);
        Py_XDECREF(item);
        if (value == -1 && PyErr_Occurred()) {
            throw denizen::python_error();
        }
        coefficients.push_back(value);
    }
    return polynomial(std::move(coefficients));
}

static void add_polynomial(PyObject *module)
{
    denizen::element<polynomial>("Polynomial")
        .documentation("A polynomial with real coefficients.")
        .arithmetic()                                       // + - * and unary -, as it has them
        .equality()                                         // ==
        .text()                                             // <<
        .from_python(from_object)                           // Polynomial([1, 2])
        .zero(polynomial())                                 // the sum of none
        .one(polynomial({1}))                               // the product of none
        .linear_algebra()                                   // @
        .cast_from<double>(denizen::casting::safe, [](double c) { return polynomial({c}); })
        .heap_bytes([](const polynomial &p) { return p.coefficients().capacity() * sizeof(double); })
        .thread_safe()                                      // loops run without the GIL
        .add_to(module);
}

// ---- functions ----------------------------------------------------------------------------------

// denizen::guard turns a C++ exception into a Python one and returns NULL then.

/// A view reads the elements of an array of any shape and strides; it is a range.
static PyObject *evaluate(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        PyObject *array;
        double x;
        if (!PyArg_ParseTuple(arguments, "Od", &array, &x)) {
            return nullptr;
        }
        const denizen::view<const polynomial> view(array);
        PyObject *list = PyList_New(view.size());
        Py_ssize_t index = 0;
        for (const polynomial &p : view) {
            PyObject *value = list == nullptr ? nullptr : PyFloat_FromDouble(p(x));
            if (value == nullptr) {
                Py_XDECREF(list);
                return nullptr;
            }
            PyList_SetItem(list, index++, value);
        }
        return list;
    });
}

/// A view of what is not const writes. Nobody else uses the elements meanwhile.
static PyObject *differentiate(PyObject *, PyObject *array)
{
    return denizen::guard([&] {
        for (polynomial &p : denizen::view<polynomial>(array)) {
            p = p.derivative();
        }
        return Py_NewRef(Py_None);
    });
}

/// adopt: the array is over the vector's own memory. It lives as long as a view of the array.
static PyObject *chebyshev(PyObject *, PyObject *argument)
{
    return denizen::guard([&]() -> PyObject * {
        const Py_ssize_t count = PyNumber_AsSsize_t(argument, PyExc_OverflowError);
        if (count == -1 && PyErr_Occurred()) {
            return nullptr;
        }
        if (count < 0) {
            throw std::invalid_argument("there cannot be fewer than 0 polynomials");
        }
        std::vector<polynomial> result;
        for (Py_ssize_t index = 0; index < count; index++) {
            result.push_back(index == 0   ? polynomial({1})
                             : index == 1 ? polynomial({0, 1})
                                          : polynomial({0, 2}) * result.end()[-1] -
                                                result.end()[-2]);
        }
        return denizen::adopt(std::move(result));
    });
}

/// take: the elements are moved into a new array, whose memory is NumPy's. It can be resized.
static PyObject *powers(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        PyObject *object;
        Py_ssize_t rows, columns;
        if (!PyArg_ParseTuple(arguments, "O(nn)", &object, &rows, &columns)) {
            return nullptr;
        }
        const auto base = denizen::from_python<polynomial>(object);
        std::vector<polynomial> result;
        for (Py_ssize_t index = 0; index < rows * columns; index++) {
            result.push_back(index == 0 ? polynomial({1}) : result.back() * base);
        }
        return denizen::take(std::move(result), {rows, columns});
    });
}

static PyMethodDef methods[] = {{"evaluate", evaluate, METH_VARARGS, nullptr},
                                {"differentiate", differentiate, METH_O, nullptr},
                                {"chebyshev", chebyshev, METH_O, nullptr},
                                {"powers", powers, METH_VARARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "polynomials", nullptr, -1, methods, {}, {}, {}, {}};

PyMODINIT_FUNC PyInit_polynomials()
{
    return denizen::guard([]() -> PyObject * {
        PyObject *module = PyModule_Create(&definition);
        if (module != nullptr) {
            add_polynomial(module);
        }
        return module;
    });
}
