/*
 * The description of a type in fifteen lines, and types of the standard library. Only compiled.
 */
#include <denizen/denizen.hpp>

#include <cmath>

namespace mp {

struct real {
    double value = 0;
    real() = default;
    real(double v) : value(v) {}
    explicit real(long v) : value(static_cast<double>(v)) {}
    explicit operator double() const { return value; }
    explicit operator long() const { return static_cast<long>(value); }
};

real operator+(const real &x, const real &y) { return x.value + y.value; }
real operator-(const real &x, const real &y) { return x.value - y.value; }
real operator*(const real &x, const real &y) { return x.value * y.value; }
real operator/(const real &x, const real &y) { return x.value / y.value; }
real operator-(const real &x) { return -x.value; }
bool operator<(const real &x, const real &y) { return x.value < y.value; }
bool operator==(const real &x, const real &y) { return x.value == y.value; }
std::ostream &operator<<(std::ostream &stream, const real &x) { return stream << x.value; }
void sqrt(real &out, const real &x) { out.value = std::sqrt(x.value); }

} // namespace mp

using mp::real;

void add_real(PyObject *module);
void add_real(PyObject *module)
{
    denizen::element<mp::real>("real")          // construct/copy/move/destroy from the type
        .arithmetic().ordering().text()         // + - * / unary, < ==, << where the type has them
        .cast<double>().cast<long>()            // both ways; .cast_from<U>(level), .cast_to<U>(level)
        .loop("sqrt", [](real& out, const real& x) { sqrt(out, x); })   // or returning T
        .thread_safe()                          // may run without the GIL
        .add_to(module);                        // PyObject*: makes the scalar class and the dtype there
}

/* As the handles of pybind11 and nanobind are. */
struct handle {
    PyObject *object;
    PyObject *ptr() const { return object; }
};

void add_standard_types(handle module);
void add_standard_types(handle module)
{
    denizen::element<std::function<double(double)>>("Function").add_to(module);
    denizen::element<std::shared_ptr<int>>("Shared")
        .equality().ordering().hash().nonzero().add_to(module);
    denizen::element<std::unique_ptr<int>>("Unique").equality().ordering().add_to(module);
    denizen::element<std::vector<std::unique_ptr<int>>>("Uniques").add_to(module);
    denizen::element<std::pair<double, double>>("Pair").ordering().add_to(module);
    denizen::element<std::complex<double>>("Complex")
        .arithmetic().equality().text().linear_algebra().add_to(module);
    denizen::element<double>("Double")
        .arithmetic().ordering().text().cast<float>().cast<int>().cast<bool>().add_to(module);
    denizen::element<mp::real>("boxed").storage<denizen::storage::boxed>().add_to(module);
}
