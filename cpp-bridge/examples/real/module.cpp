// The extension module `real`: mp::real as an element type of NumPy arrays.
//
//   real.real                          the scalar class and dtype
//   real.make(value, precision)        a real, or an array of them, at a precision in bits
//   real.with_precision(array, bits)   the same values rounded to another precision
//   real.precision(array)              the precisions, as an int64 array (an int for a scalar)
#include <denizen/denizen.hpp>

#include "real.hpp"

#include <complex>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

using mp::real;

// The bytes of a real may be moved: it is MPFR's struct, a precision, a sign, an exponent and a
// pointer to limbs on the heap. MPFR itself exchanges these members in mpfr_swap and keeps nothing
// that points back; the class keeps nothing beside them.
template <>
struct denizen::is_trivially_relocatable<real> : std::true_type {};

// The precision of a live real is at least 1, also in an object without limbs (by default, or moved
// from).
template <>
struct denizen::zero_bytes<real>
    : denizen::never_zero<offsetof(__mpfr_struct, _mpfr_prec), sizeof(mpfr_prec_t)> {};

namespace {

using builder = denizen::element<real>;

// ---- loops: the results are written into the output, which may be an operand --------------------

template <mp::unary_function F>
void unary(real &out, const real &x)
{
    mp::apply<F>(out, x);
}

template <mp::binary_function F>
void binary(real &out, const real &x, const real &y)
{
    mp::apply<F>(out, x, y);
}

/// The same for functions that fill caches of MPFR on their way.
template <mp::unary_function F>
void function(real &out, const real &x)
{
    mp::free_caches_at_thread_end();
    mp::apply<F>(out, x);
}

template <mp::binary_function F>
void function(real &out, const real &x, const real &y)
{
    mp::free_caches_at_thread_end();
    mp::apply<F>(out, x, y);
}

using unary_step = void (*)(real &, const real &);
using binary_step = void (*)(real &, const real &, const real &);
using predicate_step = bool (*)(const real &);

/// A function as a type, so that a loop calls it directly.
template <auto F>
struct step;
template <unary_step F>
struct step<F> {
    void operator()(real &out, const real &x) const { F(out, x); }
};
template <binary_step F>
struct step<F> {
    void operator()(real &out, const real &x, const real &y) const { F(out, x, y); }
};
template <predicate_step F>
struct step<F> {
    bool operator()(const real &x) const { return F(x); }
};

template <auto F>
void add_loop(builder &type, const char *ufunc)
{
    if constexpr (std::is_same_v<decltype(F), predicate_step>) {
        type.loop(ufunc, step<F>{});
    } else {
        type.loop(ufunc, step<F>{}, denizen::may_alias);
    }
}

void copy(real &out, const real &x) { out = x; }

void floor_divide(real &out, const real &x, const real &y)
{
    mp::divide_floor(&out, nullptr, x, y);
}

void remainder(real &out, const real &x, const real &y)
{
    mp::divide_floor(nullptr, &out, x, y);
}

bool truth(const real &x) { return static_cast<bool>(x); }

void add_arithmetic(builder &type)
{
    add_loop<mp::add>(type, "add");
    add_loop<mp::subtract>(type, "subtract");
    add_loop<mp::multiply>(type, "multiply");
    add_loop<mp::divide>(type, "divide");
    add_loop<floor_divide>(type, "floor_divide");
    add_loop<remainder>(type, "remainder");
    add_loop<function<mpfr_fmod>>(type, "fmod");
    add_loop<function<mpfr_pow>>(type, "power");
    add_loop<function<mpfr_pow>>(type, "float_power");
    add_loop<function<mpfr_hypot>>(type, "hypot");
    add_loop<function<mpfr_atan2>>(type, "arctan2");
    add_loop<mp::log_add_exp>(type, "logaddexp");
    add_loop<mp::log_add_exp2>(type, "logaddexp2");
    add_loop<unary<mpfr_sqr>>(type, "square");
    add_loop<unary<mpfr_neg>>(type, "negative");
    add_loop<copy>(type, "positive");
    add_loop<copy>(type, "conjugate");
    add_loop<unary<mpfr_abs>>(type, "absolute");
    add_loop<unary<mpfr_abs>>(type, "fabs");
    add_loop<mp::reciprocal>(type, "reciprocal");
    add_loop<mp::sign>(type, "sign");
    add_loop<binary<mpfr_copysign>>(type, "copysign");
    type.loop(
        "divmod",
        [](real &quotient, real &rest, const real &x, const real &y) {
            mp::divide_floor(&quotient, &rest, x, y);
        },
        denizen::may_alias);
    type.loop("modf", mp::split, denizen::may_alias);
    type.loop("frexp", mp::split_exponent, denizen::may_alias);
    type.loop("ldexp", mp::scale, denizen::may_alias);
}

void add_functions(builder &type)
{
    add_loop<unary<mpfr_sqrt>>(type, "sqrt");
    add_loop<function<mpfr_cbrt>>(type, "cbrt");
    add_loop<function<mpfr_exp>>(type, "exp");
    add_loop<function<mpfr_exp2>>(type, "exp2");
    add_loop<function<mpfr_expm1>>(type, "expm1");
    add_loop<function<mpfr_log>>(type, "log");
    add_loop<function<mpfr_log2>>(type, "log2");
    add_loop<function<mpfr_log10>>(type, "log10");
    add_loop<function<mpfr_log1p>>(type, "log1p");
    add_loop<function<mpfr_sin>>(type, "sin");
    add_loop<function<mpfr_cos>>(type, "cos");
    add_loop<function<mpfr_tan>>(type, "tan");
    add_loop<function<mpfr_asin>>(type, "arcsin");
    add_loop<function<mpfr_acos>>(type, "arccos");
    add_loop<function<mpfr_atan>>(type, "arctan");
    add_loop<function<mpfr_sinh>>(type, "sinh");
    add_loop<function<mpfr_cosh>>(type, "cosh");
    add_loop<function<mpfr_tanh>>(type, "tanh");
    add_loop<function<mpfr_asinh>>(type, "arcsinh");
    add_loop<function<mpfr_acosh>>(type, "arccosh");
    add_loop<function<mpfr_atanh>>(type, "arctanh");
    for (const char *ufunc : {"deg2rad", "radians"}) {
        add_loop<mp::radians>(type, ufunc);
    }
    for (const char *ufunc : {"rad2deg", "degrees"}) {
        add_loop<mp::degrees>(type, ufunc);
    }
    add_loop<mp::floor>(type, "floor");
    add_loop<mp::ceil>(type, "ceil");
    add_loop<mp::trunc>(type, "trunc");
    add_loop<mp::rint>(type, "rint");
}

void add_comparisons(builder &type)
{
    // The six comparisons and sorting, NaN last. Its maximum and so on would copy an operand, these
    // have the precision of all results.
    type.ordering().sort_key([](const real &x) { return x.sort_key(); });
    add_loop<mp::maximum>(type, "maximum");
    add_loop<mp::minimum>(type, "minimum");
    add_loop<binary<mpfr_max>>(type, "fmax");
    add_loop<binary<mpfr_min>>(type, "fmin");
    type.loop("numpy._core.umath:clip", mp::clip, denizen::may_alias);
    add_loop<mp::is_nan>(type, "isnan");
    add_loop<mp::is_infinite>(type, "isinf");
    add_loop<mp::is_finite>(type, "isfinite");
    add_loop<mp::sign_bit>(type, "signbit");
    type.loop("logical_not", [](const real &x) { return !truth(x); });
    type.loop("logical_and",
              [](const real &x, const real &y) { return truth(x) && truth(y); });
    type.loop("logical_or",
              [](const real &x, const real &y) { return truth(x) || truth(y); });
    type.loop("logical_xor",
              [](const real &x, const real &y) { return truth(x) != truth(y); });
}

/// The levels are NumPy's own for a wider float: every number keeps its value in a real, a float
/// is within the kind but rounds, an integer is cut. A complex number never becomes a real, and a
/// real one only on request, so that `real + 1j` is an error and not a loss of digits.
void add_casts(builder &type)
{
    using denizen::casting;
    type.cast_from<double>(casting::safe)
        .cast_from<long double>(casting::safe)
        .cast_from<std::int64_t>(casting::safe)
        .cast_from<std::uint64_t>(casting::safe)
        .cast_to<float>(casting::same_kind)
        .cast_to<double>(casting::same_kind)
        .cast_to<long double>(casting::same_kind)
        .cast_to<std::int64_t>(casting::unsafe)
        .cast_to<std::uint64_t>(casting::unsafe)
        .cast_to<std::complex<double>>(casting::unsafe, [](const real &x) {
            return std::complex<double>(static_cast<double>(x));
        });
}

void add_values(builder &type)
{
    type.text([](const real &x) { return x.to_string(); },
              [](std::string_view text) { return real(text); })
        .codec([](const real &x) { return x.save(); }, real::load)
        .hash([](const real &x) { return x.hash(); })
        .nonzero()
        .heap_bytes([](const real &x) { return x.heap_bytes(); })
        .zero(real())
        .one(real(1.0))
        .linear_algebra(mp::add_product)
        .documentation("A binary floating point number of MPFR with a precision of its own.\n\n"
                       "A result has the precision of its most precise operand and is rounded to "
                       "nearest. A float has 53 bits; an int as many as it needs, but 53; text of "
                       "up to 17 digits 53, longer text more. real.make takes another precision.");
}

// ---- functions of the module --------------------------------------------------------------------

struct release {
    void operator()(PyObject *object) const { Py_XDECREF(object); }
};
using owned = std::unique_ptr<PyObject, release>;

/// A new reference that Python made, or the exception that it set.
owned checked(PyObject *object)
{
    if (object == nullptr) {
        throw denizen::python_error();
    }
    return owned(object);
}

/// `array[()]`: the element of an array without dimensions, else the array.
PyObject *element_or_array(PyObject *array)
{
    const owned nothing = checked(PyTuple_New(0));
    return checked(PyObject_GetItem(array, nothing.get())).release();
}

/// `numpy.asarray(object, dtype)`; no dtype: whatever it has.
denizen::array<real> as_array(PyObject *object, PyObject *dtype)
{
    const owned numpy = checked(PyImport_ImportModule("numpy"));
    return denizen::array<real>::steal(
        PyObject_CallMethod(numpy.get(), "asarray", "OO", object, dtype));
}

denizen::array<real> rounded(const denizen::array<real> &source, mpfr_prec_t precision)
{
    auto result = denizen::array<real>::empty(source.shape());
    const denizen::view<const real> from = source.const_view();
    const denizen::view<real> to = result.view();
    auto out = to.begin();
    for (const real &x : from) {
        *out = x.with_precision(precision);
        ++out;
    }
    return result;
}

PyObject *with_precision(PyObject *, PyObject *arguments)
{
    PyObject *object = nullptr;
    Py_ssize_t bits = 0;
    if (!PyArg_ParseTuple(arguments, "On:with_precision", &object, &bits)) {
        return nullptr;
    }
    return denizen::guard([&] {
        return element_or_array(rounded(as_array(object, Py_None), bits).ptr());
    });
}

PyObject *make(PyObject *, PyObject *arguments)
{
    PyObject *value = nullptr;
    Py_ssize_t bits = 0;
    if (!PyArg_ParseTuple(arguments, "On:make", &value, &bits)) {
        return nullptr;
    }
    return denizen::guard([&] {
        if (PyUnicode_Check(value)) {
            Py_ssize_t size = 0;
            const char *text = PyUnicode_AsUTF8AndSize(value, &size);
            if (text == nullptr) {
                throw denizen::python_error();
            }
            auto result = denizen::array<real>::empty({});
            *result.view().begin() = real({text, static_cast<std::size_t>(size)},
                                          bits == 0 ? -1 : bits);
            return element_or_array(result.ptr());
        }
        const owned dtype = checked(denizen::array<real>::dtype());
        return element_or_array(rounded(as_array(value, dtype.get()), bits).ptr());
    });
}

/// A buffer of Python's, given back at the end.
class buffer {
public:
    explicit buffer(PyObject *object)
    {
        if (PyObject_GetBuffer(object, &view_, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) != 0) {
            throw denizen::python_error();
        }
    }
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;
    ~buffer() { PyBuffer_Release(&view_); }
    std::int64_t *data() const { return static_cast<std::int64_t *>(view_.buf); }

private:
    Py_buffer view_;
};

PyObject *precision(PyObject *, PyObject *object)
{
    return denizen::guard([&] {
        const denizen::array<real> source = as_array(object, Py_None);
        const owned shape = checked(PyObject_GetAttrString(source.ptr(), "shape"));
        const owned numpy = checked(PyImport_ImportModule("numpy"));
        const owned result = checked(
            PyObject_CallMethod(numpy.get(), "empty", "Os", shape.get(), "int64"));
        {
            const buffer numbers(result.get());
            std::int64_t *next = numbers.data();
            for (const real &x : source.const_view()) {
                *next++ = x.precision();
            }
        }
        return element_or_array(result.get());
    });
}

PyMethodDef functions[] = {
    {"make", make, METH_VARARGS,
     "make(value, precision): a real, or an array of reals, rounded to a precision in bits. A str "
     "is rounded once; other values are converted to reals first."},
    {"with_precision", with_precision, METH_VARARGS,
     "with_precision(array, bits): the same values rounded to another precision."},
    {"precision", precision, METH_O,
     "precision(array): the precision of each real in bits, as an int64 array."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "real", "MPFR numbers as elements of NumPy arrays.", -1, functions,
    nullptr,               nullptr, nullptr,                                     nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit_real()
{
    return denizen::guard([&]() -> PyObject* {
        owned module = checked(PyModule_Create(&definition));
        builder type("real");
        add_arithmetic(type);
        add_functions(type);
        add_comparisons(type);
        add_casts(type);
        add_values(type);
        // MPFR's caches and flags belong to the thread where it was built so.
        if (mpfr_buildopt_tls_p() != 0) {
            type.thread_safe();
        }
        type.add_to(module.get());
        return module.release();
    });
}
