/*
 * Conversions between the element type and other types, where the author gives no function.
 */
#ifndef DENIZEN_CPP_CASTS_HPP
#define DENIZEN_CPP_CASTS_HPP

#include <denizen/cpp/loops.hpp>

#include <cmath>

namespace denizen __attribute__((visibility("hidden"))) {

/** NumPy's casting levels. */
enum class casting : std::uint32_t {
    /** Every value survives. */
    safe = DENIZEN_CAST_SAFE,
    /** Within a kind. */
    same_kind = DENIZEN_CAST_SAME_KIND,
    /** Only on request (`astype`). */
    unsafe = DENIZEN_CAST_UNSAFE
};

namespace detail {

/* Whether From converts to the arithmetic type To by a conversion of its own, not by one to
 * another arithmetic type followed by a lossy built-in one. */
template <class To, class From>
using exact_result = decltype(To{std::declval<const From &>()});
template <class To, class From>
constexpr bool converts_exactly =
    is_detected<exact_result, To, From> && std::is_constructible_v<To, const From &>;

/* 2 to the power of the value bits of an integer: the first floating-point number that is too
 * large. Exact in every floating-point type. */
template <class Float, class Integer>
inline Float beyond() noexcept
{
    return std::ldexp(Float(1), std::numeric_limits<Integer>::digits);
}

/** An integer from a floating-point number, cut towards zero. Throws where it does not fit. */
template <class Integer, class Float>
inline Integer float_to_integer(Float value)
{
    if (value != value) {
        throw error(error_kind::value, "NaN cannot be converted to an integer");
    }
    const Float whole = std::trunc(value);
    const Float limit = beyond<Float, Integer>();
    const bool fits =
        whole < limit && (std::is_signed_v<Integer> ? whole >= -limit : whole >= Float(0));
    if (!fits) {
        throw error(error_kind::overflow, "the value is out of range for a " +
                                              std::string(std::is_signed_v<Integer> ? "signed" :
                                                                                      "unsigned") +
                                              " integer of " + std::to_string(8 * sizeof(Integer)) +
                                              " bits");
    }
    return static_cast<Integer>(whole);
}

/** An integer from another one. Throws where it does not fit. */
template <class To, class From>
inline To integer_to_integer(From value)
{
    const To result = static_cast<To>(value);
    if (static_cast<From>(result) != value || (result < To(0)) != (value < From(0))) {
        throw error(error_kind::overflow,
                    "the value is out of range for an integer of " +
                        std::to_string(8 * sizeof(To)) + " bits");
    }
    return result;
}

/* Which standard conversion leads from a T to the built-in type U. */
enum class route { none, own, signed_integer, unsigned_integer, real, long_real, plain };

template <class U, class T>
constexpr route route_to()
{
    if constexpr (std::is_integral_v<U> && !std::is_same_v<U, bool>) {
        if constexpr (converts_exactly<U, T>) {
            return route::own;
        } else if constexpr (converts_exactly<long long, T>) {
            return route::signed_integer;
        } else if constexpr (converts_exactly<unsigned long long, T>) {
            return route::unsigned_integer;
        } else if constexpr (converts_exactly<double, T>) {
            return route::real;
        } else if constexpr (converts_exactly<long double, T>) {
            return route::long_real;
        } else {
            return route::none;
        }
    } else if constexpr (std::is_floating_point_v<U>) {
        if constexpr (converts_exactly<U, T>) {
            return route::own;
        } else if constexpr (converts_exactly<long double, T>) {
            return route::long_real;
        } else if constexpr (converts_exactly<double, T>) {
            return route::real;
        } else if constexpr (std::is_constructible_v<U, const T &>) {
            return route::plain;
        } else {
            return route::none;
        }
    } else if constexpr (is_builtin<T> && std::is_same_v<U, bool>) {
        return route::plain;
    } else {
        return std::is_constructible_v<U, const T &> ? route::plain : route::none;
    }
}

/** A U from a T by T's own conversions. */
template <class U, class T>
struct convert_to {
    static constexpr route way = route_to<U, T>();
    static constexpr bool exists = way != route::none;

    U operator()(const T &value) const
    {
        constexpr bool integer = std::is_integral_v<U> && !std::is_same_v<U, bool>;
        if constexpr (way == route::own || way == route::plain) {
            return static_cast<U>(value);
        } else if constexpr (way == route::signed_integer) {
            return integer_to_integer<U>(static_cast<long long>(value));
        } else if constexpr (way == route::unsigned_integer) {
            return integer_to_integer<U>(static_cast<unsigned long long>(value));
        } else if constexpr (way == route::real && integer) {
            return float_to_integer<U>(static_cast<double>(value));
        } else if constexpr (way == route::long_real && integer) {
            return float_to_integer<U>(static_cast<long double>(value));
        } else if constexpr (way == route::real) {
            return static_cast<U>(static_cast<double>(value));
        } else {
            return static_cast<U>(static_cast<long double>(value));
        }
    }
};

/* Which constructor of T takes a built-in U: its own, or after a conversion that keeps the value,
 * for a T whose overloads are ambiguous for U. */
template <class T, class U>
constexpr route route_from()
{
    if constexpr (std::is_constructible_v<T, const U &>) {
        return route::own;
    } else if constexpr (std::is_integral_v<U> && std::is_signed_v<U> &&
                         std::is_constructible_v<T, long>) {
        return route::signed_integer;
    } else if constexpr (std::is_integral_v<U> && std::is_constructible_v<T, unsigned long>) {
        return route::unsigned_integer;
    } else if constexpr (std::is_arithmetic_v<U> && !std::is_same_v<U, long double> &&
                         (std::is_floating_point_v<U> || sizeof(U) < 8) &&
                         std::is_constructible_v<T, double>) {
        return route::real;
    } else {
        return route::none;
    }
}

template <class T, class U>
using braced_result = decltype(T{std::declval<const U &>()});

/* Whether T takes a U without a lossy conversion on the way: the language refuses those in
 * braces. It also refuses integers of up to 32 bits to double, which lose nothing. */
template <class T, class U>
constexpr bool takes_exactly =
    is_detected<braced_result, T, U> || !std::is_arithmetic_v<U> ||
    (std::is_integral_v<U> && sizeof(U) <= 4 && std::is_constructible_v<T, double>);

/** A T from a U by T's own constructors. */
template <class T, class U>
struct convert_from {
    static constexpr route way = route_from<T, U>();
    static constexpr bool exists = way != route::none;
    /** Safe where T converts implicitly, which its author holds for harmless, and exactly. */
    static constexpr casting level = std::is_convertible_v<const U &, T> && takes_exactly<T, U>
                                         ? casting::safe
                                         : casting::same_kind;

/* A long for a T that takes a double: the level above says what that means. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
    T operator()(const U &value) const
    {
        if constexpr (way == route::signed_integer) {
            return T(static_cast<long>(value));
        } else if constexpr (way == route::unsigned_integer) {
            return T(static_cast<unsigned long>(value));
        } else if constexpr (way == route::real) {
            return T(static_cast<double>(value));
        } else {
            return T(value);
        }
    }
#pragma GCC diagnostic pop
};

} // namespace detail
} // namespace denizen

#endif
