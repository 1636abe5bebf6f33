// The extension module `autodiff`: Eigen's AutoDiffScalar, a value with its derivatives (forward
// mode), as it is, inline in NumPy arrays.
//
//   autodiff.Dual              the scalar class and dtype; floats and integers cast to it
//   autodiff.variable(x)       float64 array -> Duals of the same shape: the k-th (in C order) has the
//                              k-th unit vector as derivatives
//   autodiff.value(a)          the values: float64, the shape of a
//   autodiff.gradient(a)       the derivatives: float64, the shape of a and the variables last; a 2-D
//                              array for a vector, its Jacobian
//   autodiff.history(n)        sqrt(2) by n steps of Newton: a std::vector of Eigen's numbers, adopted
#include <denizen/denizen.hpp>
#include <denizen/pybind11.hpp>
#include <pybind11/numpy.h>

#include <Eigen/Core>
#include <unsupported/Eigen/AutoDiff>

#include <cmath>
#include <sstream>
#include <vector>

namespace py = pybind11;

using derivatives = Eigen::VectorXd;
using dual = Eigen::AutoDiffScalar<derivatives>;

// ---- the promises -------------------------------------------------------------------------------

// An AutoDiffScalar<VectorXd> is a double and a vector of dynamic size, which is a pointer to the
// heap and a number of rows: nothing points into the object, and nobody keeps its address. (A
// vector of fixed size would lie in the object, which may be moved too, but may be aligned to more
// than NumPy's 16 bytes.)
template <>
struct denizen::is_trivially_relocatable<dual> : std::true_type {};
static_assert(sizeof(dual) == sizeof(double) + sizeof(double *) + sizeof(Eigen::Index),
              "AutoDiffScalar has a member that this file does not know");

// Zero bytes are the value 0 with an empty vector, which owns nothing: NULL and 0 rows are what
// Eigen's default constructor of the vector makes. It leaves the value as it is, so that 0 is as
// good a default as any, and the one that numpy.zeros wants.
template <>
struct denizen::zero_bytes<dual>
    : std::integral_constant<denizen::zero, denizen::zero::default_value> {};

// ---- arithmetic ---------------------------------------------------------------------------------

// A constant has no derivatives, its vector is empty. Eigen's operators make the two vectors
// coherent first: they resize an empty one, although the operand is const. Elements of an array
// that is only read must not change (other threads may read them too), so an empty vector is filled
// up in a copy. The expression f(x, y) is evaluated right into `out`, which may be an operand: Eigen
// goes through the coefficients one by one, and has the factors by value.
template <class F>
void combine(dual &out, const dual &x, const dual &y, F f)
{
    const Eigen::Index n = x.derivatives().size(), m = y.derivatives().size();
    if (n == m) {
        out = f(x, y);
    } else if (n == 0) {
        out = f(dual(x.value(), derivatives::Zero(m)), y);
    } else if (m == 0) {
        out = f(x, dual(y.value(), derivatives::Zero(n)));
    } else {
        throw std::invalid_argument("derivatives by " + std::to_string(n) + " and by " +
                                    std::to_string(m) + " variables do not mix");
    }
}

// Sums of products: the first product, and each that follows.
struct fused {
    dual operator()(const dual &x, const dual &y) const
    {
        dual product;
        combine(product, x, y, [](const dual &a, const dual &b) { return a * b; });
        return product;
    }
    void operator()(dual &sum, const dual &x, const dual &y) const
    {
        combine(sum, sum, (*this)(x, y), [](const dual &a, const dual &b) { return a + b; });
    }
};

// d x^y = x^y (y dx / x + ln x dy). Where y is constant x may be negative or 0.
void power(dual &out, const dual &x, const dual &y)
{
    if (y.derivatives().size() == 0 || y.derivatives().isZero(0)) {
        const double by = y.value();
        combine(out, x, y, [by](const dual &a, const dual &) -> dual { return pow(a, by); });
        return;
    }
    const double result = std::pow(x.value(), y.value());
    const double by_x = y.value() * std::pow(x.value(), y.value() - 1);
    const double by_y = result * std::log(x.value());
    combine(out, x, y, [&](const dual &a, const dual &b) {
        return dual(result, by_x * a.derivatives() + by_y * b.derivatives());
    });
}

std::string text(const dual &x)
{
    std::ostringstream stream;
    stream << x.value();
    for (Eigen::Index k = 0; k < x.derivatives().size(); k++) {
        stream << (k == 0 ? " d(" : ", ") << x.derivatives()[k];
    }
    stream << (x.derivatives().size() > 0 ? ")" : "");
    return std::move(stream).str();
}

// ---- the element type ---------------------------------------------------------------------------

static void add_dual(py::module_ &module)
{
    using denizen::may_alias;

    denizen::element<dual> type("Dual");
    type.documentation("A value and its derivatives.")
        .cast<double>()
        .cast<float>()
        .cast<long>()
        .cast_to<double>(denizen::casting::unsafe, [](const dual &x) { return x.value(); })
        .ordering()                                     // by values; NaN last
        .text(text)
        .zero(dual(0.0))
        .one(dual(1.0))
        .linear_algebra(fused{})
        .heap_bytes([](const dual &x) {
            return static_cast<std::size_t>(x.derivatives().size()) * sizeof(double);
        })
        .thread_safe();

    // Eigen's expressions: each is evaluated into `out`, whose memory is used again.
#define BINARY(ufunc, expression)                                                                \
    type.loop(ufunc,                                                                             \
              [](dual &out, const dual &x, const dual &y) {                                      \
                  combine(out, x, y, [](const dual &a, const dual &b) { return expression; });   \
              },                                                                                 \
              may_alias)
    BINARY("add", a + b);
    BINARY("subtract", a - b);
    BINARY("multiply", a * b);
    BINARY("divide", a / b);
#undef BINARY
    type.loop("power", power, may_alias);

    // What a callable returns may be an expression too, with the signature that is meant.
    type.loop<dual(const dual &)>("negative", [](const dual &x) { return -x; })
        .loop<dual(const dual &)>("square", [](const dual &x) { return x * x; })
        .loop<dual(const dual &)>("absolute", [](const dual &x) { return abs(x); })
        .loop<dual(const dual &)>("sqrt", [](const dual &x) { return sqrt(x); })
        .loop<dual(const dual &)>("exp", [](const dual &x) { return exp(x); })
        .loop<dual(const dual &)>("log", [](const dual &x) { return log(x); })
        .loop<dual(const dual &)>("sin", [](const dual &x) { return sin(x); })
        .loop<dual(const dual &)>("cos", [](const dual &x) { return cos(x); })
        .loop<dual(const dual &)>("tan", [](const dual &x) { return tan(x); })
        .loop<dual(const dual &)>("arcsin", [](const dual &x) { return asin(x); })
        .loop<dual(const dual &)>("arccos", [](const dual &x) { return acos(x); })
        .loop<dual(const dual &)>("sinh", [](const dual &x) { return sinh(x); })
        .loop<dual(const dual &)>("cosh", [](const dual &x) { return cosh(x); })
        .loop<dual(const dual &)>("tanh", [](const dual &x) { return tanh(x); })
        .loop("isnan", [](const dual &x) { return std::isnan(x.value()); })
        .add_to(module);
}

// ---- functions ----------------------------------------------------------------------------------

using floats = py::array_t<double, py::array::c_style | py::array::forcecast>;

static py::object variable(const floats &values)
{
    std::vector<dual> result;
    for (py::ssize_t k = 0; k < values.size(); k++) {
        result.emplace_back(values.data()[k], static_cast<int>(values.size()),
                            static_cast<int>(k));
    }
    const std::vector<py::ssize_t> shape(values.shape(), values.shape() + values.ndim());
    return py::reinterpret_steal<py::object>(
        denizen::take(std::move(result), denizen::dimensions(shape)));
}

/// What an array of Duals or a single one is, as an array.
static denizen::array<dual> array_of(const py::object &object)
{
    if (denizen::array<dual>::check(object.ptr())) {
        return denizen::array<dual>::from_python(object);
    }
    std::vector<dual> one{denizen::from_python<dual>(object)};
    return denizen::array<dual>::steal(
        denizen::take(std::move(one), denizen::dimensions(std::vector<py::ssize_t>{})));
}

static py::array_t<double> value(const py::object &object)
{
    const auto view = array_of(object).const_view();
    py::array_t<double> result(std::vector<py::ssize_t>(view.shape().begin(), view.shape().end()));
    double *out = result.mutable_data();
    for (const dual &x : view) {
        *out++ = x.value();
    }
    return result;
}

static py::array_t<double> gradient(const py::object &object)
{
    const auto view = array_of(object).const_view();
    Eigen::Index count = 0;
    for (const dual &x : view) {
        const Eigen::Index size = x.derivatives().size();
        if (size > 0 && count > 0 && size != count) {
            throw std::invalid_argument("the elements have derivatives by " +
                                        std::to_string(count) + " and by " +
                                        std::to_string(size) + " variables");
        }
        count = std::max(count, size);
    }
    std::vector<py::ssize_t> shape(view.shape().begin(), view.shape().end());
    shape.push_back(count);
    py::array_t<double> result(shape);
    double *out = result.mutable_data();
    for (const dual &x : view) {
        /* A constant has no derivatives: they are 0. */
        const auto size = static_cast<std::size_t>(x.derivatives().size());
        std::copy_n(x.derivatives().data(), size, out);
        std::fill(out + size, out + count, 0.0);
        out += count;
    }
    return result;
}

static py::object history(std::size_t steps)
{
    std::vector<dual> result;
    const dual two(2.0, 1, 0);
    dual x(1.0, derivatives::Zero(1));
    for (std::size_t step = 0; step < steps; step++) {
        result.push_back(x = dual(0.5 * dual(x + dual(two / x))));
    }
    return py::reinterpret_steal<py::object>(denizen::adopt(std::move(result)));
}

PYBIND11_MODULE(autodiff, module)
{
    denizen::register_pybind11();
    add_dual(module);
    module.def("variable", variable, py::arg("values"));
    module.def("value", value, py::arg("array"));
    module.def("gradient", gradient, py::arg("array"));
    module.def("history", history, py::arg("steps"));
}
