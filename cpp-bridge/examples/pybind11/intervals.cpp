// The extension module `intervals`, by an author who has a class in pybind11 and wants arrays of it.
// The class stays the scalar class of the arrays. Where denizen is not installed there are no
// arrays, and everything else works.
//
//   intervals.Interval(lower, upper)   the class; with denizen also a dtype
//   intervals.has_arrays               whether denizen is there
// With denizen:
//   intervals.hull(a)                  the smallest Interval that holds all of an array
//   intervals.widen(a, by)             in place
//   intervals.apply(f, a)              f of each element, as a new array
//   intervals.split(interval, n)       n equal parts: an array over a std::vector, not copied
#include <denizen/denizen.hpp>
#include <denizen/pybind11.hpp>
#include <pybind11/operators.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <vector>

namespace py = pybind11;

// ---- the class as it was ------------------------------------------------------------------------

/// What a quotient by an interval around zero is not.
struct unbounded : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A closed interval of real numbers. (Rounding is to nearest: an example, not interval
/// arithmetic for proofs.)
class interval {
public:
    interval() = default;
    interval(double lower, double upper) : lower_(lower), upper_(upper)
    {
        if (!(lower <= upper)) {
            throw std::invalid_argument("the bounds of an interval are in order");
        }
    }

    double lower() const { return lower_; }
    double upper() const { return upper_; }
    double width() const { return upper_ - lower_; }
    bool contains(double x) const { return lower_ <= x && x <= upper_; }

    friend interval operator+(const interval &x, const interval &y)
    {
        return {x.lower_ + y.lower_, x.upper_ + y.upper_};
    }
    friend interval operator-(const interval &x) { return {-x.upper_, -x.lower_}; }
    friend interval operator-(const interval &x, const interval &y) { return x + -y; }
    friend interval operator*(const interval &x, const interval &y)
    {
        const auto [lower, upper] = std::minmax({x.lower_ * y.lower_, x.lower_ * y.upper_,
                                                 x.upper_ * y.lower_, x.upper_ * y.upper_});
        return {lower, upper};
    }
    friend interval operator/(const interval &x, const interval &y)
    {
        if (y.contains(0)) {
            throw unbounded("the quotient by an interval around 0 has no bounds");
        }
        return x * interval(1 / y.upper_, 1 / y.lower_);
    }
    friend bool operator==(const interval &x, const interval &y)
    {
        return x.lower_ == y.lower_ && x.upper_ == y.upper_;
    }
    friend std::ostream &operator<<(std::ostream &stream, const interval &x)
    {
        return stream << '[' << x.lower_ << ", " << x.upper_ << ']';
    }

private:
    double lower_ = 0, upper_ = 0;
};

// ---- as an element type -------------------------------------------------------------------------

// Two numbers: trivially copyable, and zero bytes are [0, 0], the default.
template <>
struct denizen::zero_bytes<interval>
    : std::integral_constant<denizen::zero, denizen::zero::default_value> {};

/// What may stand for an interval in `a[0] = ..`: an Interval, or a number.
static interval interval_of(PyObject *object)
{
    const py::handle handle(object);
    if (py::isinstance<interval>(handle)) {
        return handle.cast<interval>();
    }
    if (PyFloat_Check(object) || PyLong_Check(object)) {
        const auto number = handle.cast<double>();
        return {number, number};
    }
    throw denizen::error(denizen::error_kind::type, "expected an Interval or a number");
}

static void add_arrays(py::module_ &module, const py::class_<interval> &python_class)
{
    denizen::element<interval>("Interval")
        .python_class(python_class,
                      [](const interval &x) { return py::cast(x); },
                      interval_of)
        .arithmetic()
        .equality()
        .text()
        .zero(interval())
        .one(interval(1, 1))
        .linear_algebra()
        .cast_from<double>(denizen::casting::safe, [](double x) { return interval(x, x); })
        .loop("maximum", [](const interval &x, const interval &y) {
            return interval(std::max(x.lower(), y.lower()), std::max(x.upper(), y.upper()));
        })
        .loop("minimum", [](const interval &x, const interval &y) {
            return interval(std::min(x.lower(), y.lower()), std::min(x.upper(), y.upper()));
        })
        .add_to(module);

    // An array of exactly this dtype as an argument: any other is pybind11's usual TypeError.
    module.def("hull", [](const denizen::array<interval> &array) {
        std::optional<interval> hull;
        for (const interval &x : array.const_view()) {
            hull = hull ? interval(std::min(hull->lower(), x.lower()),
                                   std::max(hull->upper(), x.upper()))
                        : x;
        }
        if (!hull) {
            throw py::value_error("nothing has no hull");
        }
        return *hull;
    });
    // A view of any Python object says itself what is wrong with it.
    module.def("widen", [](const py::object &array, double by) {
        for (interval &x : denizen::view<interval>(array)) {
            x = interval(x.lower() - by, x.upper() + by);
        }
    });
    module.def("apply", [](const py::function &f, const denizen::array<interval> &array) {
        // Python code runs in `f`: what it needs is copied out, so that no view is held meanwhile.
        std::vector<interval> elements;
        for (const interval &x : array.const_view()) {
            elements.push_back(x);
        }
        for (interval &x : elements) {
            x = interval_of(f(x).ptr());
        }
        return py::reinterpret_steal<py::object>(
            denizen::take(std::move(elements), array.shape()));
    });
    module.def("split", [](const interval &whole, std::size_t count) {
        std::vector<interval> parts;
        parts.reserve(count);
        const auto bound = [&](std::size_t index) {
            return whole.lower() +
                   whole.width() * (static_cast<double>(index) / static_cast<double>(count));
        };
        for (std::size_t index = 0; index < count; index++) {
            parts.emplace_back(bound(index), bound(index + 1));
        }
        // The array owns the vector now. A new reference, hence steal.
        return py::reinterpret_steal<py::object>(denizen::adopt(std::move(parts)));
    });
}

PYBIND11_MODULE(intervals, module)
{
    py::class_<interval> python_class(module, "Interval", "A closed interval of real numbers.");
    python_class.def(py::init<double, double>(), py::arg("lower"), py::arg("upper"))
        .def_property_readonly("lower", &interval::lower)
        .def_property_readonly("upper", &interval::upper)
        .def_property_readonly("width", &interval::width)
        .def("__contains__", &interval::contains)
        .def(py::self + py::self)
        .def(py::self - py::self)
        .def(py::self * py::self)
        .def(py::self / py::self)
        .def(-py::self)
        .def(py::self == py::self)
        .def("__hash__", [](const interval &x) {
            return py::hash(py::make_tuple(x.lower(), x.upper()));
        })
        .def("__repr__", [](const interval &x) {
            std::ostringstream stream;
            stream << "Interval" << x;
            return std::move(stream).str();
        });
    py::register_exception<unbounded>(module, "Unbounded", PyExc_ArithmeticError);

    // denizen is an option: without it the class is all there is.
    const bool available = denizen::available();
    module.attr("has_arrays") = available;
    if (available) {
        denizen::register_pybind11();
        add_arrays(module, python_class);
    }
}
