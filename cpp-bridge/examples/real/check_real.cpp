// Checks of the class alone, without Python: `check_real` ends with 0 or names what failed.
#include "real.hpp"

#include <cmath>
#include <cstdio>
#include <limits>

namespace {

int failures = 0;

void check(bool good, const char *what)
{
    if (!good) {
        std::fprintf(stderr, "failed: %s\n", what);
        ++failures;
    }
}

template <typename Error, typename Function>
void check_throws(Function function, const char *what)
{
    try {
        function();
        check(false, what);
    } catch (const Error &) {
    }
}

using mp::real;

void values_and_precision()
{
    const real third = real(1.0).with_precision(113) / real(3.0);
    check(third.precision() == 113, "the result has the larger precision");
    real out = real(5.0).with_precision(200);
    mp::add(out, third, real(1.0));
    check(out.precision() == 113, "an output takes over the precision of the result");
    check(real(std::numeric_limits<std::int64_t>::max()).precision() == 64, "int64 is exact");
    check(real(std::uint64_t{7}).precision() == 53, "small integers have the default precision");
    check(real("1e3", 10).precision() == 10, "the asked precision is the precision");
    check(real("123456789012345678901234567890").precision() > 53, "integer text is exact");
    check(real("10000000000000000000000").precision() == 53, "trailing zeros need no bits");
}

void outputs_that_are_operands()
{
    real x = real(1.0);
    const real y = real(3.0).with_precision(300);
    const real expected = x / y;
    mp::divide(x, x, y);
    check(x == expected && x.precision() == 300, "an operand as output grows");
    real z(2.0);
    mp::multiply(z, z, z);
    check(z == real(4.0), "both operands as output");
    real nothing;
    mp::add(nothing, nothing, nothing);
    check(nothing == real(0.0), "a default value as operand and output");
    mp::add_product(nothing, z, z);
    check(nothing == real(16.0), "a default value as a sum");
}

void life()
{
    real x = real("1.25", 500);
    real y(std::move(x));
    check(x == real() && y == real(1.25) && x.heap_bytes() == 0, "a moved-from number is 0");
    x = y;
    check(x == y && x.precision() == 500, "a moved-from number can be assigned to");
    const void *limbs = x.get()->_mpfr_d;
    x = real(2.5).with_precision(499);
    real w = real(7.0).with_precision(450);
    limbs = w.get()->_mpfr_d;
    w = real(9.0).with_precision(460);
    const real nine = real(9.0).with_precision(470);
    limbs = w.get()->_mpfr_d;
    w = nine;
    check(limbs == w.get()->_mpfr_d && w == nine, "copy assignment keeps limbs of the same size");
    w = real();
    check(w == real() && w.heap_bytes() == 0, "a default value has no limbs");
    const real &self = y;
    y = self;
    check(y == real(1.25), "self-assignment");
}

void text()
{
    for (const char *shown : {"0.0", "-0.0", "1.5", "0.1", "1e+22", "123456.0", "1e-05", "inf",
                              "-inf", "nan", "0.0001", "-2.5e-300", "9007199254740993.0"}) {
        check(real(shown, 64).to_string() == shown, shown);
    }
    for (const char *bad : {"", " ", "+", "1e", "e5", "1.5x", "0x10", ".", "1_0", "--1", "nan(1)",
                            "1 2", "infin", "1e+"}) {
        check_throws<std::invalid_argument>([bad] { real{std::string_view(bad)}; }, bad);
    }
    check(real("1e1000000000000000000000") > real(0.0), "huge exponents end as infinity");
    for (mpfr_prec_t precision = 1; precision < 400; precision += 7) {
        real x = real(2.0).with_precision(precision);
        mp::apply<mpfr_sqrt>(x, x);
        check(real(x.to_string(), precision) == x, "text gives the value back");
    }
    check_throws<std::invalid_argument>([] { real("1", -1); }, "a negative precision");
    check_throws<std::invalid_argument>([] { real(1.0).with_precision(0); }, "precision 0");
}

void bytes()
{
    for (const char *shown : {"0", "-0", "1.5", "-inf", "nan", "1e-4000", "-1234567890123456789"}) {
        const real x(shown, 77);
        const auto saved = x.save();
        const real y = real::load(saved.data(), saved.size());
        check(y.precision() == 77 && y.save() == saved, "bytes give the value back");
        for (std::size_t size = 0; size < saved.size(); ++size) {
            check_throws<std::invalid_argument>([&] { real::load(saved.data(), size); }, "short");
        }
        for (std::size_t bit = 0; bit < saved.size() * 8; ++bit) {
            auto changed = saved;
            changed[bit / 8] = static_cast<unsigned char>(changed[bit / 8] ^ 1U << bit % 8);
            try {
                const real z = real::load(changed.data(), changed.size());
                check(z.precision() >= 1, "a changed byte is refused or gives a number");
            } catch (const std::invalid_argument &) {
            }
        }
    }
}

void rounding_down()
{
    for (double x : {7.5, -7.5, 0.0, -0.0, 1e-300, -1e-300}) {
        for (double y : {2.0, -2.0, 0.25, -0.25}) {
            real quotient;
            real remainder;
            mp::divide_floor(&quotient, &remainder, real(x), real(y));
            check(quotient == real(std::floor(x / y)), "the quotient is rounded down");
            check(mp::sign_bit(remainder) == std::signbit(y), "the remainder has y's sign");
        }
    }
}

void conversions()
{
    check(std::int64_t(real(1.5)) == 1 && std::int64_t(real(-1.5)) == -1, "integers are cut");
    check_throws<std::domain_error>([] { (void)std::int64_t(real("nan")); }, "NaN is no integer");
    check_throws<std::overflow_error>([] { (void)std::int64_t(real(1e19)); }, "too large");
    check_throws<std::overflow_error>([] { (void)std::uint64_t(real(-1.0)); }, "negative");
    check(real(0.5).hash() == (std::int64_t{1} << 60), "hash of 0.5");
    check(real(-1.0).hash() == -2, "hash of -1");
}

}  // namespace

int main()
{
    values_and_precision();
    outputs_that_are_operands();
    life();
    text();
    bytes();
    rounding_down();
    conversions();
    return failures == 0 ? 0 : 1;
}
