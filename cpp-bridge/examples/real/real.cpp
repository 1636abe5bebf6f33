// What real.hpp does not inline: conversions, text, bytes, hash, and functions of several steps.
#include "real.hpp"

#include <array>
#include <cctype>
#include <cfloat>
#include <climits>
#include <cmath>
#include <limits>
#include <ostream>

namespace mp {

namespace {

static_assert(FLT_RADIX == 2 && DBL_MANT_DIG == real::default_precision, "double is binary64");
static_assert(sizeof(long) == sizeof(std::int64_t), "mpfr_set_si takes 64 bits");

/// log10(2), rounded down, and log2(10), rounded down.
constexpr double decimal_digits_per_bit = 0.30102999566398114;
constexpr double bits_per_decimal_digit = 3.3219280948873622;

void check_precision(mpfr_prec_t precision)
{
    if (precision < 1 || precision > real::maximum_precision) {
        throw std::invalid_argument("the precision of a real is 1 to "
                                    + std::to_string(real::maximum_precision) + " bits, not "
                                    + std::to_string(precision));
    }
}

/// A number for steps on the way to a result, a little more precise than that.
class scratch {
public:
    explicit scratch(mpfr_prec_t precision)
    {
        free_caches_at_thread_end();
        value_.reserve(precision + 32);
    }
    operator mpfr_ptr() { return value_.reserve(value_.precision()); }

private:
    real value_;
};

/// An integer of GMP's.
class integer {
public:
    integer() { mpz_init(value_); }
    integer(const integer &) = delete;
    integer &operator=(const integer &) = delete;
    ~integer() { mpz_clear(value_); }
    operator mpz_ptr() { return value_; }

private:
    mpz_t value_;
};

}  // namespace

void free_caches_at_thread_end()
{
    struct caches {
        bool used = false;
        ~caches() { mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE); }
    };
    thread_local caches of_this_thread;
    of_this_thread.used = true;
}

// ---- conversions ----------------------------------------------------------------------------

mpfr_srcptr real::default_zero() noexcept
{
    // Plain bytes that no destructor takes away: objects of static storage may outlive others.
    struct constant {
        mp_limb_t limb = 0;
        mpfr_t value;
        constant() { mpfr_custom_init_set(value, MPFR_ZERO_KIND, 0, default_precision, &limb); }
    };
    static constant zero;
    return zero.value;
}

namespace {

/// Enough bits for an integer: the default precision, or 64.
mpfr_prec_t integer_precision(std::uint64_t x)
{
    const std::uint64_t largest = std::uint64_t{1} << real::default_precision;
    while (x > largest && x % 2 == 0) {
        x /= 2;
    }
    return x <= largest ? real::default_precision : 64;
}

}  // namespace

real::real(long double x) : real()
{
    constexpr mpfr_prec_t bits = std::max<mpfr_prec_t>(LDBL_MANT_DIG, default_precision);
    // On some machines a long double is the sum of two doubles, and has more bits than that.
    mpfr_set_ld(reserve(bits), x, MPFR_RNDN);
}

real::real(std::int64_t x) : real()
{
    const auto size = static_cast<std::uint64_t>(x);
    mpfr_set_si(reserve(integer_precision(x < 0 ? 0 - size : size)), x, MPFR_RNDN);
}

real::real(std::uint64_t x) : real()
{
    mpfr_set_ui(reserve(integer_precision(x)), x, MPFR_RNDN);
}

void real::change_precision(mpfr_prec_t precision)
{
    void *limbs = allocate(precision);
    mpfr_t changed;
    mpfr_custom_init_set(changed, MPFR_ZERO_KIND, 0, precision, limbs);
    mpfr_set(changed, value_, MPFR_RNDN);
    clear();
    *value_ = *changed;
}

real real::with_precision(mpfr_prec_t precision) const
{
    check_precision(precision);
    real out;
    mpfr_set(out.reserve(precision), get(), MPFR_RNDN);
    return out;
}

real::operator std::int64_t() const
{
    mpfr_srcptr x = get();
    if (mpfr_nan_p(x)) {
        throw std::domain_error("NaN is no integer");
    }
    if (!mpfr_fits_slong_p(x, MPFR_RNDZ)) {
        throw std::overflow_error(to_string() + " does not fit into a 64-bit integer");
    }
    return mpfr_get_si(x, MPFR_RNDZ);
}

real::operator std::uint64_t() const
{
    mpfr_srcptr x = get();
    if (mpfr_nan_p(x)) {
        throw std::domain_error("NaN is no integer");
    }
    if (!mpfr_fits_ulong_p(x, MPFR_RNDZ)) {
        throw std::overflow_error(to_string() + " does not fit into an unsigned 64-bit integer");
    }
    return mpfr_get_ui(x, MPFR_RNDZ);
}

// ---- text -----------------------------------------------------------------------------------

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// What a scan of decimal text finds.
struct decimal {
    /// Digits from the first that is not 0 on.
    std::size_t digits = 0;
    /// No point and no exponent.
    bool is_integer = true;
    /// Not digits but "inf" or "nan".
    bool is_special = false;
};

[[noreturn]] void refuse(std::string_view text)
{
    constexpr std::size_t most = 60;
    const std::string shown(text.substr(0, most));
    const char *rest = text.size() > most ? "..." : "";
    throw std::invalid_argument("not a number: '" + shown + rest + "'");
}

bool equals_ignoring_case(std::string_view text, std::string_view lower)
{
    return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == b;
    });
}

/// Checks the form of the text, without the space around it.
decimal scan(std::string_view text)
{
    decimal found;
    std::string_view rest = text;
    const auto take = [&rest](std::string_view any) {
        const bool there = !rest.empty() && any.find(rest.front()) != std::string_view::npos;
        if (there) {
            rest.remove_prefix(1);
        }
        return there;
    };
    take("+-");
    for (std::string_view special : {"inf", "infinity", "nan"}) {
        if (equals_ignoring_case(rest, special)) {
            found.is_special = true;
            return found;
        }
    }
    bool any_digit = false;
    const auto take_digits = [&](std::size_t *significant) {
        bool any = false;
        while (!rest.empty() && is_digit(rest.front())) {
            any = true;
            if (significant != nullptr && (*significant > 0 || rest.front() != '0')) {
                ++*significant;
            }
            rest.remove_prefix(1);
        }
        return any;
    };
    any_digit = take_digits(&found.digits);
    if (take(".")) {
        found.is_integer = false;
        any_digit |= take_digits(&found.digits);
    }
    if (!any_digit) {
        refuse(text);
    }
    if (take("eE")) {
        found.is_integer = false;
        take("+-");
        if (!take_digits(nullptr)) {
            refuse(text);
        }
    }
    if (!rest.empty()) {
        refuse(text);
    }
    return found;
}

mpfr_prec_t precision_of(const decimal &found)
{
    const double digits = static_cast<double>(found.digits);
    const double bits = found.is_integer ? std::ceil(digits * bits_per_decimal_digit) + 1
                                         : std::floor((digits - 1) * bits_per_decimal_digit);
    if (bits > static_cast<double>(real::maximum_precision)) {
        throw std::invalid_argument("the number has more digits than the largest precision");
    }
    return std::max(static_cast<mpfr_prec_t>(bits), real::default_precision);
}

}  // namespace

real::real(std::string_view text, mpfr_prec_t precision) : real()
{
    while (!text.empty() && is_space(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_space(text.back())) {
        text.remove_suffix(1);
    }
    const decimal found = scan(text);
    free_caches_at_thread_end();
    const bool asked = precision != 0;
    if (asked) {
        check_precision(precision);
    } else {
        precision = precision_of(found);
    }
    real value;
    mpfr_ptr target = value.reserve(precision);
    if (found.is_special) {
        const bool minus = text.front() == '-';
        if (equals_ignoring_case(text.substr(text.size() - 3), "nan")) {
            mpfr_set_nan(target);
            mpfr_setsign(target, target, minus, MPFR_RNDN);
        } else {
            mpfr_set_inf(target, minus ? -1 : 1);
        }
    } else {
        // strtofr wants a NUL; the form has been checked, so it reads all.
        mpfr_strtofr(target, std::string(text).c_str(), nullptr, 10, MPFR_RNDN);
        if (!asked && found.is_integer) {
            // The digits gave an upper bound; 10 ** 20 needs less.
            const mpfr_prec_t needed = std::max(mpfr_min_prec(target), default_precision);
            value.reserve(needed);
        }
    }
    std::swap(*value_, *value.value_);
}

std::string real::to_string() const
{
    free_caches_at_thread_end();
    mpfr_srcptr x = get();
    const std::string minus = mpfr_signbit(x) ? "-" : "";
    if (mpfr_nan_p(x)) {
        return "nan";
    }
    if (mpfr_inf_p(x)) {
        return minus + "inf";
    }
    if (mpfr_zero_p(x)) {
        return minus + "0.0";
    }
    // A decimal of `fewest` digits survives the way through binary, a binary number the way through
    // `most` digits: the shortest text is in between.
    const double digits = static_cast<double>(precision()) * decimal_digits_per_bit;
    const std::size_t most = static_cast<std::size_t>(std::ceil(digits)) + 1;
    const std::size_t fewest = std::min(
        most, static_cast<std::size_t>(std::max(2.0, std::floor(digits - decimal_digits_per_bit))));
    std::string text;
    for (std::size_t count = fewest; count <= most; ++count) {
        std::vector<char> buffer(std::max<std::size_t>(count + 2, 7));
        mpfr_exp_t exponent = 0;
        mpfr_get_str(buffer.data(), &exponent, 10, count, x, MPFR_RNDN);
        std::string_view shown(buffer.data());
        if (shown.front() == '-') {
            shown.remove_prefix(1);
        }
        std::string digits_shown(shown.substr(0, shown.find_last_not_of('0') + 1));
        const auto size = static_cast<mpfr_exp_t>(digits_shown.size());
        const auto longest = std::max<mpfr_exp_t>(16, static_cast<mpfr_exp_t>(most) - 1);
        // The value is 0.digits * 10 ** exponent.
        if (exponent > -4 && exponent <= longest) {
            if (exponent <= 0) {
                digits_shown.insert(0, static_cast<std::size_t>(-exponent), '0');
                digits_shown.insert(0, "0.");
            } else if (exponent < size) {
                digits_shown.insert(static_cast<std::size_t>(exponent), ".");
            } else {
                digits_shown.append(static_cast<std::size_t>(exponent - size), '0');
                digits_shown += ".0";
            }
            text = minus + digits_shown;
        } else {
            if (size > 1) {
                digits_shown.insert(1, ".");
            }
            const mpfr_exp_t shown_exponent = exponent - 1;
            std::string number = std::to_string(std::abs(shown_exponent));
            if (number.size() < 2) {
                number.insert(0, "0");
            }
            text = minus + digits_shown + (shown_exponent < 0 ? "e-" : "e+") + number;
        }
        if (count == most || real(text, precision()) == *this) {
            break;
        }
    }
    return text;
}

std::ostream &operator<<(std::ostream &stream, const real &x) { return stream << x.to_string(); }

// ---- bytes ----------------------------------------------------------------------------------
//
//   1 byte    kind (0 zero, 1 number, 2 infinity, 3 NaN), plus 16 where the sign is minus
//   8 bytes   precision in bits, little-endian
//   for a number then
//   8 bytes   exponent, little-endian two's complement: the value is 0.significand * 2 ** exponent
//   the rest  significand as an integer of `precision` bits, little-endian, topmost bit set

namespace {

enum class kind : unsigned char { zero, number, infinity, nan };
constexpr unsigned char minus_flag = 16;

void put(std::vector<unsigned char> &bytes, std::uint64_t value)
{
    for (int shift = 0; shift < 64; shift += 8) {
        bytes.push_back(static_cast<unsigned char>(value >> shift));
    }
}

std::uint64_t take(const unsigned char *bytes)
{
    std::uint64_t value = 0;
    for (int index = 7; index >= 0; --index) {
        value = value << 8 | bytes[index];
    }
    return value;
}

std::size_t significand_bytes(mpfr_prec_t precision)
{
    return (static_cast<std::size_t>(precision) + 7) / 8;
}

}  // namespace

std::vector<unsigned char> real::save() const
{
    mpfr_srcptr x = get();
    const kind which = mpfr_nan_p(x)    ? kind::nan
                       : mpfr_inf_p(x)  ? kind::infinity
                       : mpfr_zero_p(x) ? kind::zero
                                        : kind::number;
    std::vector<unsigned char> bytes;
    bytes.push_back(static_cast<unsigned char>(static_cast<unsigned char>(which)
                                               | (mpfr_signbit(x) ? minus_flag : 0)));
    put(bytes, static_cast<std::uint64_t>(precision()));
    if (which == kind::number) {
        put(bytes, static_cast<std::uint64_t>(mpfr_get_exp(x)));
        integer significand;
        mpfr_get_z_2exp(significand, x);
        const std::size_t header = bytes.size();
        bytes.resize(header + significand_bytes(precision()));
        mpz_export(bytes.data() + header, nullptr, -1, 1, 0, 0, significand);
    }
    return bytes;
}

real real::load(const unsigned char *bytes, std::size_t size)
{
    constexpr std::size_t short_size = 9;
    constexpr std::size_t header_size = 17;
    const auto check = [](bool good) {
        if (!good) {
            throw std::invalid_argument("these bytes are no saved real");
        }
    };
    check(size >= short_size);
    const bool minus = (bytes[0] & minus_flag) != 0;
    const auto code = static_cast<unsigned char>(bytes[0] & ~minus_flag);
    check(code <= static_cast<unsigned char>(kind::nan));
    const std::uint64_t bits = take(bytes + 1);
    check(bits >= 1 && bits <= static_cast<std::uint64_t>(maximum_precision));
    const auto precision = static_cast<mpfr_prec_t>(bits);
    const auto which = static_cast<kind>(code);
    real out;
    if (which != kind::number) {
        check(size == short_size);
        mpfr_ptr target = out.reserve(precision);
        if (which == kind::nan) {
            mpfr_set_nan(target);
        } else if (which == kind::infinity) {
            mpfr_set_inf(target, 1);
        } else {
            mpfr_set_zero(target, 1);
        }
        mpfr_setsign(target, target, minus, MPFR_RNDN);
        return out;
    }
    check(size == header_size + significand_bytes(precision));
    integer significand;
    mpz_import(significand, size - header_size, -1, 1, 0, 0, bytes + header_size);
    check(mpz_sizeinbase(significand, 2) == bits);
    const std::uint64_t raw = take(bytes + short_size);
    mpfr_exp_t exponent = 0;
    static_assert(sizeof exponent == sizeof raw, "exponents have 64 bits");
    std::memcpy(&exponent, &raw, sizeof exponent);
    check(exponent >= mpfr_get_emin() && exponent <= mpfr_get_emax());
    mpfr_ptr target = out.reserve(precision);
    mpfr_set_z(target, significand, MPFR_RNDN);
    mpfr_setsign(target, target, minus, MPFR_RNDN);
    mpfr_set_exp(target, exponent);
    return out;
}

// ---- hash -----------------------------------------------------------------------------------

std::int64_t real::hash() const
{
    // The hash of numbers that Python documents: the value modulo 2 ** 61 - 1.
    constexpr unsigned bits = 61;
    constexpr std::uint64_t modulus = (std::uint64_t{1} << bits) - 1;
    constexpr std::int64_t infinity = 314159;
    mpfr_srcptr x = get();
    const bool minus = mpfr_signbit(x) != 0;
    if (mpfr_nan_p(x) || mpfr_zero_p(x)) {
        return 0;
    }
    if (mpfr_inf_p(x)) {
        return minus ? -infinity : infinity;
    }
    integer significand;
    mpfr_exp_t exponent = mpfr_get_z_2exp(significand, x) % static_cast<mpfr_exp_t>(bits);
    if (exponent < 0) {
        exponent += bits;
    }
    // 2 ** 61 is 1, so a power of two rotates the bits.
    std::uint64_t value = mpz_tdiv_ui(significand, modulus);
    const auto shift = static_cast<unsigned>(exponent);
    value = ((value << shift) & modulus) | value >> (bits - shift);
    value %= modulus;
    const auto signed_value = static_cast<std::int64_t>(value);
    const std::int64_t result = minus ? -signed_value : signed_value;
    return result == -1 ? -2 : result;
}

// ---- order ----------------------------------------------------------------------------------

std::int64_t real::sort_key() const noexcept
{
    // Bits of a positive number, from the top: exponent, significand without its topmost bit.
    constexpr int exponent_bits = 15;
    constexpr int significand_bits = 63 - exponent_bits;
    constexpr mpfr_exp_t largest_exponent = (mpfr_exp_t{1} << (exponent_bits - 1)) - 1;
    constexpr std::int64_t infinite = std::numeric_limits<std::int64_t>::max() - 1;
    mpfr_srcptr x = get();
    const int kind = mpfr_custom_get_kind(x);
    if (kind == MPFR_NAN_KIND || kind == -MPFR_NAN_KIND) {
        return infinite + 1;
    }
    if (kind == MPFR_INF_KIND || kind == -MPFR_INF_KIND) {
        return kind > 0 ? infinite : -infinite;
    }
    if (kind == MPFR_ZERO_KIND || kind == -MPFR_ZERO_KIND) {
        return 0;
    }
    const mpfr_exp_t exponent = mpfr_custom_get_exp(x);
    std::int64_t size = 0;
    if (exponent > largest_exponent) {
        size = infinite - 1;
    } else if (exponent <= -largest_exponent) {
        size = 1;
    } else {
        static_assert(GMP_NUMB_BITS == 64, "limbs have 64 bits");
        const auto *limbs = static_cast<const mp_limb_t *>(mpfr_custom_get_significand(x));
        const mp_limb_t top = limbs[(mpfr_get_prec(x) - 1) / GMP_NUMB_BITS];
        // The topmost bit is always set, and goes.
        size = static_cast<std::int64_t>(top << 1 >> (64 - significand_bits))
               | static_cast<std::int64_t>(exponent + largest_exponent) << significand_bits;
    }
    return kind > 0 ? size : -size;
}

// ---- functions of several steps ---------------------------------------------------------------

void divide_floor(real *quotient, real *remainder, const real &x, const real &y)
{
    free_caches_at_thread_end();
    mpfr_srcptr left = x.get();
    mpfr_srcptr right = y.get();
    const mpfr_prec_t precision = std::max(x.precision(), y.precision());
    // Both operands are read before either result is written.
    real rest;
    mpfr_ptr mod = rest.reserve(precision);
    mpfr_fmod(mod, left, right, MPFR_RNDN);
    real whole;
    if (quotient != nullptr) {
        mpfr_ptr div = whole.reserve(precision);
        if (mpfr_zero_p(right)) {
            mpfr_div(div, left, right, MPFR_RNDN);
        } else if (mpfr_nan_p(mod)) {
            mpfr_set_nan(div);
        } else if (mpfr_inf_p(right)) {
            // A quotient just below 0 is rounded down too, as Python does.
            const bool below = !mpfr_zero_p(mod) && mpfr_signbit(mod) != mpfr_signbit(right);
            mpfr_div(div, left, right, MPFR_RNDN);
            if (below) {
                mpfr_set_si(div, -1, MPFR_RNDN);
            }
        } else {
            // Rounded down, the quotient has the integer part of the exact one, unless it is so
            // large that it has no fraction: then it is the nearest.
            mpfr_div(div, left, right, MPFR_RNDD);
            if (!mpfr_zero_p(div) && mpfr_get_exp(div) >= precision) {
                mpfr_div(div, left, right, MPFR_RNDN);
            } else {
                mpfr_floor(div, div);
            }
        }
    }
    if (remainder != nullptr) {
        if (mpfr_zero_p(mod)) {
            mpfr_setsign(mod, mod, mpfr_signbit(right), MPFR_RNDN);
        } else if (!mpfr_nan_p(mod) && mpfr_signbit(mod) != mpfr_signbit(right)) {
            mpfr_add(mod, mod, right, MPFR_RNDN);
        }
    }
    if (quotient != nullptr) {
        *quotient = std::move(whole);
    }
    if (remainder != nullptr) {
        *remainder = std::move(rest);
    }
}

void split(real &fraction, real &integer, const real &x)
{
    mpfr_srcptr input = x.get();
    real part;
    real whole;
    mpfr_modf(whole.reserve(x.precision()), part.reserve(x.precision()), input, MPFR_RNDN);
    fraction = std::move(part);
    integer = std::move(whole);
}

void split_exponent(real &mantissa, std::int32_t &exponent, const real &x)
{
    mpfr_srcptr input = x.get();
    const bool regular = mpfr_regular_p(input) != 0;
    const mpfr_exp_t power = regular ? mpfr_get_exp(input) : 0;
    if (power < std::numeric_limits<std::int32_t>::min()
        || power > std::numeric_limits<std::int32_t>::max()) {
        throw std::overflow_error("the exponent does not fit into 32 bits");
    }
    mpfr_ptr target = mantissa.reserve(x.precision());
    mpfr_set(target, input, MPFR_RNDN);
    if (regular) {
        mpfr_set_exp(target, 0);
    }
    exponent = static_cast<std::int32_t>(power);
}

void scale(real &out, const real &x, std::int64_t exponent)
{
    mpfr_srcptr input = x.get();
    mpfr_mul_2si(out.reserve(x.precision()), input, exponent, MPFR_RNDN);
}

void floor(real &out, const real &x)
{
    mpfr_srcptr input = x.get();
    mpfr_floor(out.reserve(x.precision()), input);
}

void ceil(real &out, const real &x)
{
    mpfr_srcptr input = x.get();
    mpfr_ceil(out.reserve(x.precision()), input);
}

void trunc(real &out, const real &x)
{
    mpfr_srcptr input = x.get();
    mpfr_trunc(out.reserve(x.precision()), input);
}

void rint(real &out, const real &x)
{
    mpfr_srcptr input = x.get();
    mpfr_rint(out.reserve(x.precision()), input, MPFR_RNDN);
}

void sign(real &out, const real &x)
{
    mpfr_srcptr input = x.get();
    const bool nan = mpfr_nan_p(input) != 0;
    const int which = nan ? 0 : mpfr_sgn(input);
    mpfr_ptr target = out.reserve(x.precision());
    if (nan) {
        mpfr_set_nan(target);
    } else {
        mpfr_set_si(target, which, MPFR_RNDN);
    }
}

void reciprocal(real &out, const real &x)
{
    mpfr_srcptr input = x.get();
    mpfr_ui_div(out.reserve(x.precision()), 1, input, MPFR_RNDN);
}

void radians(real &out, const real &x)
{
    mpfr_srcptr input = x.get();
    scratch step(x.precision());
    mpfr_const_pi(step, MPFR_RNDN);
    mpfr_mul(step, step, input, MPFR_RNDN);
    mpfr_div_ui(out.reserve(x.precision()), step, 180, MPFR_RNDN);
}

void degrees(real &out, const real &x)
{
    mpfr_srcptr input = x.get();
    scratch turn(x.precision());
    scratch step(x.precision());
    mpfr_const_pi(turn, MPFR_RNDN);
    mpfr_mul_ui(step, input, 180, MPFR_RNDN);
    mpfr_div(out.reserve(x.precision()), step, turn, MPFR_RNDN);
}

namespace {

/// `max + log1p(base ** -|x - y|)`, in the logarithm of the base.
template <unary_function Power, bool Binary>
void log_of_sum(real &out, const real &x, const real &y)
{
    mpfr_srcptr left = x.get();
    mpfr_srcptr right = y.get();
    const mpfr_prec_t precision = std::max(x.precision(), y.precision());
    if (mpfr_equal_p(left, right) && mpfr_inf_p(left)) {
        // The difference of equal infinities is NaN.
        mpfr_set(out.reserve(precision), left, MPFR_RNDN);
        return;
    }
    scratch step(precision);
    scratch largest(precision);
    mpfr_sub(step, left, right, MPFR_RNDN);
    mpfr_abs(step, step, MPFR_RNDN);
    mpfr_neg(step, step, MPFR_RNDN);
    Power(step, step, MPFR_RNDN);
    mpfr_log1p(step, step, MPFR_RNDN);
    if constexpr (Binary) {
        scratch unit(precision);
        mpfr_const_log2(unit, MPFR_RNDN);
        mpfr_div(step, step, unit, MPFR_RNDN);
    }
    if (mpfr_nan_p(left)) {
        mpfr_set_nan(largest);
    } else {
        mpfr_set(largest, mpfr_greater_p(left, right) ? left : right, MPFR_RNDN);
    }
    mpfr_add(out.reserve(precision), largest, step, MPFR_RNDN);
}

/// Writes x where `first`, else y; NaN where one is NaN.
void choose(real &out, const real &x, const real &y, bool first)
{
    mpfr_srcptr left = x.get();
    mpfr_srcptr right = y.get();
    const bool nan = mpfr_nan_p(left) || mpfr_nan_p(right);
    mpfr_ptr target = out.reserve(std::max(x.precision(), y.precision()));
    if (nan) {
        mpfr_set_nan(target);
    } else {
        mpfr_set(target, first ? left : right, MPFR_RNDN);
    }
}

}  // namespace

void log_add_exp(real &out, const real &x, const real &y)
{
    log_of_sum<mpfr_exp, false>(out, x, y);
}

void log_add_exp2(real &out, const real &x, const real &y)
{
    log_of_sum<mpfr_exp2, true>(out, x, y);
}

void maximum(real &out, const real &x, const real &y) { choose(out, x, y, x >= y); }

void minimum(real &out, const real &x, const real &y) { choose(out, x, y, x <= y); }

void clip(real &out, const real &x, const real &low, const real &high)
{
    real raised;
    maximum(raised, x, low);
    minimum(out, raised, high);
}

}  // namespace mp
