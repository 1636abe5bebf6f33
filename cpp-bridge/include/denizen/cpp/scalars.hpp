/*
 * NumPy's built-in number types, as operands of loops and casts.
 */
#ifndef DENIZEN_CPP_SCALARS_HPP
#define DENIZEN_CPP_SCALARS_HPP

#include <denizen/cpp/traits.hpp>

#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/** NumPy's type number of an integer of this width. 64 bits are NPY_LONG and NPY_ULONG, which is
 * what `np.int64` and `np.uint64` are where a long has 64 bits. */
constexpr int integer_type_number(std::size_t size, bool is_signed)
{
    switch (size) {
    case 1: return is_signed ? 1 : 2;
    case 2: return is_signed ? 3 : 4;
    case 4: return is_signed ? 5 : 6;
    case 8:
        return sizeof(long) == 8 ? (is_signed ? 7 : 8) : (is_signed ? 9 : 10);
    default: return -1;
    }
}

/** NumPy's type number of a built-in type, -1 for every other type. */
template <class U, class = void>
constexpr int type_number = -1;
template <class U>
constexpr int type_number<U, std::enable_if_t<std::is_integral_v<U>>> =
    integer_type_number(sizeof(U), std::is_signed_v<U>);
template <>
inline constexpr int type_number<bool, void> = 0;
template <>
inline constexpr int type_number<float, void> = 11;
template <>
inline constexpr int type_number<double, void> = 12;
template <>
inline constexpr int type_number<long double, void> = 13;
template <>
inline constexpr int type_number<std::complex<float>, void> = 14;
template <>
inline constexpr int type_number<std::complex<double>, void> = 15;
template <>
inline constexpr int type_number<std::complex<long double>, void> = 16;

/** Whether U is one of NumPy's built-in types. */
template <class U>
constexpr bool is_builtin = type_number<U> >= 0;

/** Reads a value that may be unaligned. */
template <class U>
inline U load_scalar(const void *data) noexcept
{
    if constexpr (std::is_same_v<U, bool>) {
        return *static_cast<const unsigned char *>(data) != 0;
    } else {
        U value;
        std::memcpy(&value, data, sizeof value);
        return value;
    }
}

/** Writes a value to a place that may be unaligned. */
template <class U>
inline void store_scalar(void *data, const U &value) noexcept
{
    if constexpr (std::is_same_v<U, bool>) {
        *static_cast<unsigned char *>(data) = value ? 1 : 0;
    } else {
        std::memcpy(data, &value, sizeof value);
    }
}

} // namespace detail
} // namespace denizen

#endif
