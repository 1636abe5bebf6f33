// An MPFR number as a C++ value: precision per object, memory by RAII, errors as exceptions.
//
// The class knows nothing of arrays or of Python. Every operation rounds to nearest, and its
// result has the precision of its most precise operand. There is no other state: MPFR's own default
// precision and rounding mode are neither read nor set.
//
// Memory. The limbs are allocated here and lent to MPFR through its custom interface (section
// "Custom Interface" of its manual), so a lack of memory for a number is std::bad_alloc. (MPFR
// itself ends the process where it has no memory for its temporaries.) A number that was built by
// default, or moved from, is 0 at `default_precision` and owns no limbs: making one costs nothing.
#ifndef MP_REAL_HPP
#define MP_REAL_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iosfwd>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mpfr.h>

namespace mp {

/// A binary floating point number with a precision of its own: 0, infinities and NaN included.
class real {
public:
    /// Precision in bits of a default value and of what has less of its own: a `double`, a small
    /// integer, a text of up to 17 digits.
    static constexpr mpfr_prec_t default_precision = 53;
    /// Largest precision in bits: 128 MiB a number. MPFR's own limit is beyond any memory.
    static constexpr mpfr_prec_t maximum_precision = mpfr_prec_t{1} << 30;

    /// 0 at default precision; owns nothing yet.
    real() noexcept { release(); }

    /// The value of `x`, exactly, at the default precision.
    explicit real(double x) : real() { mpfr_set_d(reserve(default_precision), x, MPFR_RNDN); }

    /// The value of `x`, exactly: at 64 bits, or at 113 where long double has as many.
    explicit real(long double x);

    /// The value of `x`, exactly: at the default precision, or at 64 bits where it needs more.
    explicit real(std::int64_t x);
    explicit real(std::uint64_t x);

    /// Reads decimal text: an optional sign, digits with an optional point, an optional exponent;
    /// or "inf", "infinity" or "nan" in any case. White space around it is ignored.
    ///
    /// Without a precision the text says it: an integer is kept exactly, another number of d
    /// significant digits gets floor((d - 1) log2(10)) bits; both get the default precision at
    /// least. So text of up to 17 digits is read as a double would be.
    ///
    /// @throws std::invalid_argument The text is no number, or the precision is out of range.
    explicit real(std::string_view text, mpfr_prec_t precision = 0);

    real(const real &other)
    {
        if (other.owns()) {
            copy_fields(other, allocate(other.precision()));
        } else {
            release();
        }
    }

    real(real &&other) noexcept
    {
        *value_ = *other.value_;
        other.release();
    }

    /// Takes over value and precision. The limbs are kept where as many are needed.
    real &operator=(const real &other)
    {
        if (this == &other) {
            return *this;
        }
        if (!other.owns()) {
            clear();
            release();
            return *this;
        }
        void *limbs = significand();
        if (limbs == nullptr || size_of_limbs(precision()) != size_of_limbs(other.precision())) {
            limbs = allocate(other.precision());
            clear();
        }
        copy_fields(other, limbs);
        return *this;
    }

    real &operator=(real &&other) noexcept
    {
        std::swap(*value_, *other.value_);
        return *this;
    }

    ~real() { clear(); }

    /// The number, for reading by MPFR's functions. Valid until this object changes.
    mpfr_srcptr get() const noexcept
    {
        if (__builtin_expect(static_cast<long>(owns()), 1)) {
            return value_;
        }
        return default_zero();
    }

    /// The number, for writing by MPFR's functions, at a precision in bits. Its value stays,
    /// rounded where the precision shrinks. What `get` returned before stays valid as an input,
    /// also of a number that is its own result.
    ///
    /// Not for mpfr_set_prec, mpfr_prec_round, mpfr_swap and mpfr_clear: the memory is the
    /// object's.
    ///
    /// @throws std::bad_alloc
    mpfr_ptr reserve(mpfr_prec_t precision)
    {
        if (!owns()) {
            mpfr_custom_init_set(value_, MPFR_ZERO_KIND, 0, precision, allocate(precision));
        } else if (precision != mpfr_get_prec(value_)) {
            change_precision(precision);
        }
        return value_;
    }

    /// The precision in bits.
    mpfr_prec_t precision() const noexcept { return mpfr_get_prec(value_); }

    /// The same value, rounded to another precision in bits.
    ///
    /// @throws std::invalid_argument The precision is out of range.
    real with_precision(mpfr_prec_t precision) const;

    /// Bytes on the heap.
    std::size_t heap_bytes() const noexcept { return owns() ? size_of_limbs(precision()) : 0; }

    /// The shortest decimal text that gives the same value back when read at this precision, in the
    /// form of Python's floats.
    std::string to_string() const;

    /// The integer part.
    ///
    /// @throws std::domain_error NaN. @throws std::overflow_error Out of range.
    explicit operator std::int64_t() const;
    explicit operator std::uint64_t() const;

    /// The nearest value of that type; infinite where it is too large.
    explicit operator float() const noexcept { return mpfr_get_flt(get(), MPFR_RNDN); }
    explicit operator double() const noexcept { return mpfr_get_d(get(), MPFR_RNDN); }
    explicit operator long double() const noexcept { return mpfr_get_ld(get(), MPFR_RNDN); }

    /// Whether it is not 0. NaN is not 0.
    explicit operator bool() const noexcept { return mpfr_zero_p(get()) == 0; }

    /// Sign, exponent, precision and significand as bytes, the same on every machine.
    std::vector<unsigned char> save() const;

    /// Reads what `save` wrote. The bytes need not be trustworthy.
    ///
    /// @throws std::invalid_argument They are not what `save` writes.
    static real load(const unsigned char *bytes, std::size_t size);

    /// Hash, equal for equal numbers of any precision, and equal to Python's hash of an equal int
    /// or float.
    std::int64_t hash() const;

    /// A number that orders as the values do, as far as its bits reach: sign, exponent, and the top
    /// bits of the significand. NaN is the largest.
    std::int64_t sort_key() const noexcept;

private:
    void *significand() const noexcept { return mpfr_custom_get_significand(value_); }
    bool owns() const noexcept { return significand() != nullptr; }

    static std::size_t size_of_limbs(mpfr_prec_t precision) noexcept
    {
        return mpfr_custom_get_size(precision);
    }

    static void *allocate(mpfr_prec_t precision)
    {
        void *limbs = std::malloc(size_of_limbs(precision));
        if (limbs == nullptr) {
            throw std::bad_alloc();
        }
        return limbs;
    }

    /// Gives the limbs back; the fields are stale afterwards.
    void clear() noexcept { std::free(significand()); }

    /// Makes the fields those of a default value. Whatever owned the limbs is not asked.
    void release() noexcept
    {
        mpfr_custom_init_set(value_, MPFR_ZERO_KIND, 0, default_precision, nullptr);
    }

    /// Takes value and precision of a number that owns limbs, into limbs of its size.
    void copy_fields(const real &other, void *limbs) noexcept
    {
        const mpfr_prec_t precision = other.precision();
        std::memcpy(limbs, other.significand(), size_of_limbs(precision));
        *value_ = *other.value_;
        mpfr_custom_move(value_, limbs);
    }

    void change_precision(mpfr_prec_t precision);

    static mpfr_srcptr default_zero() noexcept;

    mpfr_t value_;
};

/// Lets MPFR give back what it keeps for the calling thread (constants, spare integers) when the
/// thread ends, as its manual asks for. Called by everything here that may fill those caches; calls
/// of MPFR's transcendental functions through `apply` say it themselves.
void free_caches_at_thread_end();

// ---- operations: results are written into `out`, which may be an operand ------------------------

/// A function of one number in MPFR's convention.
using unary_function = int(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
/// A function of two numbers in MPFR's convention.
using binary_function = int(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

/// `out = F(x)` at the precision of `x`.
template <unary_function F>
void apply(real &out, const real &x)
{
    mpfr_srcptr input = x.get();
    F(out.reserve(x.precision()), input, MPFR_RNDN);
}

/// `out = F(x, y)` at the larger precision.
template <binary_function F>
void apply(real &out, const real &x, const real &y)
{
    mpfr_srcptr left = x.get();
    mpfr_srcptr right = y.get();
    F(out.reserve(std::max(x.precision(), y.precision())), left, right, MPFR_RNDN);
}

inline void add(real &out, const real &x, const real &y) { apply<mpfr_add>(out, x, y); }
inline void subtract(real &out, const real &x, const real &y) { apply<mpfr_sub>(out, x, y); }
inline void multiply(real &out, const real &x, const real &y) { apply<mpfr_mul>(out, x, y); }
inline void divide(real &out, const real &x, const real &y) { apply<mpfr_div>(out, x, y); }

/// `sum += x * y`, rounded once, at the largest precision of the three.
inline void add_product(real &sum, const real &x, const real &y)
{
    mpfr_srcptr left = x.get();
    mpfr_srcptr right = y.get();
    mpfr_srcptr old = sum.get();
    const mpfr_prec_t precision = std::max({sum.precision(), x.precision(), y.precision()});
    mpfr_fma(sum.reserve(precision), left, right, old, MPFR_RNDN);
}

/// Python's `x // y` and `x % y`: the quotient is rounded down, the remainder has the sign of `y`.
/// By 0 they are infinite or NaN as floats are. Either result may be left out (nullptr); they are
/// not the same object. A quotient that needs more bits than the result has is rounded.
void divide_floor(real *quotient, real *remainder, const real &x, const real &y);

/// The part after the point and the part before it, both with the sign of `x`.
void split(real &fraction, real &integer, const real &x);

/// `x = mantissa * 2 ** exponent` with a mantissa in [0.5, 1); for 0, infinities and NaN the
/// exponent is 0.
void split_exponent(real &mantissa, std::int32_t &exponent, const real &x);

/// `x * 2 ** exponent`.
void scale(real &out, const real &x, std::int64_t exponent);

/// Round to an integer: down, up, towards 0, to the nearest (ties to even).
void floor(real &out, const real &x);
void ceil(real &out, const real &x);
void trunc(real &out, const real &x);
void rint(real &out, const real &x);

/// -1, 0, 1 or NaN.
void sign(real &out, const real &x);
void reciprocal(real &out, const real &x);

/// Degrees to radians, and back.
void radians(real &out, const real &x);
void degrees(real &out, const real &x);

/// `log(exp(x) + exp(y))` and `log2(2 ** x + 2 ** y)`, without overflow on the way.
void log_add_exp(real &out, const real &x, const real &y);
void log_add_exp2(real &out, const real &x, const real &y);

/// The larger and the smaller number; NaN where one is NaN.
void maximum(real &out, const real &x, const real &y);
void minimum(real &out, const real &x, const real &y);
/// `minimum(maximum(x, low), high)`.
void clip(real &out, const real &x, const real &low, const real &high);

// ---- comparisons: with NaN all are false, but `!=` is true --------------------------------------

namespace detail {

/// The order of two numbers that differ in sign, exponent or topmost limb, as -1 or 1; 0 where that
/// does not tell, or one of them is 0, infinite or NaN. Most comparisons end here, without a call.
inline int quick_order(const real &x, const real &y) noexcept
{
    mpfr_srcptr left = x.get();
    mpfr_srcptr right = y.get();
    const int left_kind = mpfr_custom_get_kind(left);
    const int right_kind = mpfr_custom_get_kind(right);
    constexpr int regular = MPFR_REGULAR_KIND;
    if ((left_kind != regular && left_kind != -regular)
        || (right_kind != regular && right_kind != -regular)) {
        return 0;
    }
    if (left_kind != right_kind) {
        return left_kind > 0 ? 1 : -1;
    }
    const int away_from_zero = left_kind > 0 ? 1 : -1;
    const mpfr_exp_t left_exponent = mpfr_custom_get_exp(left);
    const mpfr_exp_t right_exponent = mpfr_custom_get_exp(right);
    if (left_exponent != right_exponent) {
        return left_exponent > right_exponent ? away_from_zero : -away_from_zero;
    }
    // The least significant limb comes first; the top bit of the last one is set.
    const auto top = [](mpfr_srcptr number) {
        const auto *limbs = static_cast<const mp_limb_t *>(mpfr_custom_get_significand(number));
        return limbs[(mpfr_get_prec(number) - 1) / GMP_NUMB_BITS];
    };
    const mp_limb_t left_top = top(left);
    const mp_limb_t right_top = top(right);
    if (left_top == right_top) {
        return 0;
    }
    return left_top > right_top ? away_from_zero : -away_from_zero;
}

}  // namespace detail

inline bool operator==(const real &x, const real &y)
{
    return detail::quick_order(x, y) == 0 && mpfr_equal_p(x.get(), y.get()) != 0;
}

inline bool operator<(const real &x, const real &y)
{
    const int order = detail::quick_order(x, y);
    return order != 0 ? order < 0 : mpfr_less_p(x.get(), y.get()) != 0;
}

inline bool operator<=(const real &x, const real &y)
{
    const int order = detail::quick_order(x, y);
    return order != 0 ? order < 0 : mpfr_lessequal_p(x.get(), y.get()) != 0;
}

inline bool operator!=(const real &x, const real &y) { return !(x == y); }
inline bool operator>(const real &x, const real &y) { return y < x; }
inline bool operator>=(const real &x, const real &y) { return y <= x; }

inline bool is_nan(const real &x) { return mpfr_nan_p(x.get()) != 0; }
inline bool is_infinite(const real &x) { return mpfr_inf_p(x.get()) != 0; }
inline bool is_finite(const real &x) { return mpfr_number_p(x.get()) != 0; }
inline bool sign_bit(const real &x) { return mpfr_signbit(x.get()) != 0; }

// ---- operators ----------------------------------------------------------------------------------

inline real operator+(const real &x, const real &y)
{
    real out;
    add(out, x, y);
    return out;
}

inline real operator-(const real &x, const real &y)
{
    real out;
    subtract(out, x, y);
    return out;
}

inline real operator*(const real &x, const real &y)
{
    real out;
    multiply(out, x, y);
    return out;
}

inline real operator/(const real &x, const real &y)
{
    real out;
    divide(out, x, y);
    return out;
}

inline real operator-(const real &x)
{
    real out;
    apply<mpfr_neg>(out, x);
    return out;
}

inline real operator+(const real &x) { return x; }

std::ostream &operator<<(std::ostream &stream, const real &x);

}  // namespace mp

#endif  // MP_REAL_HPP
