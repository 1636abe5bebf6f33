/*
 * What a type promises about its bytes, and what it can do.
 *
 * Two promises decide how objects are stored, and neither is ever guessed: a type gives them by
 * specialising `is_trivially_relocatable` and `zero_bytes`. They are given here for the standard
 * types for which both libstdc++ and libc++ keep them (or one of them, where an #if says so).
 */
#ifndef DENIZEN_CPP_TRAITS_HPP
#define DENIZEN_CPP_TRAITS_HPP

#include <denizen/denizen.h>

#include <array>
#include <complex>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace denizen __attribute__((visibility("hidden"))) {

/**
 * Whether moving the bytes of a T to another address, and never looking at the old ones again,
 * moves the object. True for types without pointers into themselves whose address nobody else
 * keeps. Trivially copyable types are; everything else says so:
 *
 *     template <> struct denizen::is_trivially_relocatable<real> : std::true_type {};
 *
 * A false promise corrupts memory. Debug builds look for pointers into the object when the type
 * is registered.
 */
template <class T, class = void>
struct is_trivially_relocatable : std::is_trivially_copyable<T> {};

/** What an object of zero bytes means. */
enum class zero {
    /** Nothing is promised. The type is stored with a tag that says whether an object is there. */
    no_promise,
    /** No object ever has all bytes zero; T has no padding that could be all that is not zero. */
    vacant,
    /** Zero bytes are an object equal to `T()`, and forgetting it without its destructor loses
     * nothing. */
    default_value
};

/**
 * What zero bytes mean for a T: `::value` is one of `denizen::zero`.
 *
 *     template <>
 *     struct denizen::zero_bytes<real> : std::integral_constant<denizen::zero,
 *                                                               denizen::zero::vacant> {};
 */
template <class T, class = void>
struct zero_bytes : std::integral_constant<zero, zero::no_promise> {};

/**
 * A promise about a part: of the bytes `Offset .. Offset + Size` of a live object, a member say,
 * some are never zero. Only they are looked at then, which is quicker than all of a large T, and
 * leaves padding alone.
 *
 *     template <> struct denizen::zero_bytes<real> : denizen::never_zero<0, sizeof(long)> {};
 */
template <std::size_t Offset, std::size_t Size>
struct never_zero : std::integral_constant<zero, zero::vacant> {
    static constexpr std::size_t offset = Offset;
    static constexpr std::size_t size = Size;
};

/**
 * Whether a T can be copied. `std::is_copy_constructible`, looked up through the containers that
 * declare a copy constructor for elements that have none.
 */
template <class T, class = void>
struct is_copyable : std::is_copy_constructible<T> {};

namespace detail {

using zero_is_default = std::integral_constant<zero, zero::default_value>;
using zero_is_unknown = std::integral_constant<zero, zero::no_promise>;

template <class T>
constexpr bool zero_defaults = zero_bytes<T>::value == zero::default_value;
template <class T>
constexpr bool zero_vacates = zero_bytes<T>::value == zero::vacant;

/* An aggregate of parts: zero is its default where it is that of every part; it is never all zero
 * where one part never is. */
template <class... Parts>
using zero_of_all = std::integral_constant<zero, (zero_defaults<Parts> && ...) ? zero::default_value
                                                 : (zero_vacates<Parts> || ...)
                                                     ? zero::vacant
                                                     : zero::no_promise>;

} // namespace detail

/* ---- standard types ------------------------------------------------------------------------- */

/* Numbers, enumerations and pointers: `T()` is zero, null, false. */
template <class T>
struct zero_bytes<T, std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                                      std::is_pointer_v<T>>> : detail::zero_is_default {};

template <class T>
struct zero_bytes<std::complex<T>, std::enable_if_t<std::is_arithmetic_v<T>>>
    : detail::zero_is_default {};

template <class T>
struct is_copyable<std::vector<T>> : is_copyable<T> {};
template <class A, class B>
struct is_copyable<std::pair<A, B>> : std::conjunction<is_copyable<A>, is_copyable<B>> {};
template <class... Parts>
struct is_copyable<std::tuple<Parts...>> : std::conjunction<is_copyable<Parts>...> {};
template <class T, std::size_t N>
struct is_copyable<std::array<T, N>> : is_copyable<T> {};
template <class T>
struct is_copyable<std::optional<T>> : is_copyable<T> {};

template <class T, std::size_t N>
struct is_trivially_relocatable<std::array<T, N>> : is_trivially_relocatable<T> {};
template <class A, class B>
struct is_trivially_relocatable<std::pair<A, B>>
    : std::conjunction<is_trivially_relocatable<A>, is_trivially_relocatable<B>> {};

template <class T, std::size_t N>
struct zero_bytes<std::array<T, N>, std::enable_if_t<(N > 0)>> : zero_bytes<T> {};
template <class A, class B>
struct zero_bytes<std::pair<A, B>> : detail::zero_of_all<A, B> {};

#if defined(__GLIBCXX__) || defined(_LIBCPP_VERSION)

template <class... Parts>
struct is_trivially_relocatable<std::tuple<Parts...>>
    : std::conjunction<is_trivially_relocatable<Parts>...> {};
template <class... Parts>
struct zero_bytes<std::tuple<Parts...>, std::enable_if_t<(sizeof...(Parts) > 0)>>
    : detail::zero_of_all<Parts...> {};

/* A flag beside the storage; the flag is zero where there is no value, which is the default. */
template <class T>
struct is_trivially_relocatable<std::optional<T>> : is_trivially_relocatable<T> {};
template <class T>
struct zero_bytes<std::optional<T>> : detail::zero_is_default {};

/* One pointer; null is the default and owns nothing. */
template <class T>
struct is_trivially_relocatable<std::unique_ptr<T>> : std::true_type {};
template <class T>
struct zero_bytes<std::unique_ptr<T>> : detail::zero_is_default {};

/* A pointer and a pointer to the counters, both null by default. */
template <class T>
struct is_trivially_relocatable<std::shared_ptr<T>> : std::true_type {};
template <class T>
struct zero_bytes<std::shared_ptr<T>> : detail::zero_is_default {};
template <class T>
struct is_trivially_relocatable<std::weak_ptr<T>> : std::true_type {};
template <class T>
struct zero_bytes<std::weak_ptr<T>> : detail::zero_is_default {};

/* Three pointers to the heap, all null while there is no buffer. The checking containers of debug
 * modes keep lists of iterators that point back, so they promise nothing. */
#if !defined(_GLIBCXX_DEBUG) && !defined(_LIBCPP_ENABLE_DEBUG_MODE)
template <class T>
struct is_trivially_relocatable<std::vector<T>> : std::true_type {};
template <class T>
struct zero_bytes<std::vector<T>> : detail::zero_is_default {};
#endif

#endif

/* std::string. In libstdc++ a short string points into itself. In libc++ it does not, but under
 * AddressSanitizer the address of its buffer is known to the sanitizer. */
#if defined(_LIBCPP_VERSION) && !defined(__SANITIZE_ADDRESS__)
#if defined(__has_feature)
#if !__has_feature(address_sanitizer)
template <>
struct is_trivially_relocatable<std::string> : std::true_type {};
#endif
#endif
#endif

/* std::function. libstdc++ keeps only trivially copyable callables in the object, and zero bytes
 * are an empty function. libc++ points into the object. */
#if defined(__GLIBCXX__)
template <class R, class... A>
struct is_trivially_relocatable<std::function<R(A...)>> : std::true_type {};
template <class R, class... A>
struct zero_bytes<std::function<R(A...)>> : detail::zero_is_default {};
#endif

/* ---- detection ------------------------------------------------------------------------------ */

namespace detail {

template <class T>
using remove_cvref = std::remove_cv_t<std::remove_reference_t<T>>;

template <class...>
constexpr bool always_false = false;

template <class Void, template <class...> class Operation, class... Arguments>
struct detected : std::false_type {};
template <template <class...> class Operation, class... Arguments>
struct detected<std::void_t<Operation<Arguments...>>, Operation, Arguments...> : std::true_type {};

/** Whether `Operation<Arguments...>` is a type. */
template <template <class...> class Operation, class... Arguments>
constexpr bool is_detected = detected<void, Operation, Arguments...>::value;

/* An operation of two values whose result, an expression template perhaps, converts to T. */
#define DENIZEN_DETECT_BINARY(name, operation)                                                   \
    template <class T>                                                                           \
    using name##_result =                                                                        \
        decltype(std::declval<const T &>() operation std::declval<const T &>());                 \
    template <class T, class = void>                                                             \
    struct detect_##name : std::false_type {};                                                   \
    template <class T>                                                                           \
    struct detect_##name<T, std::void_t<name##_result<T>>>                                       \
        : std::is_convertible<name##_result<T>, T> {};                                           \
    template <class T>                                                                           \
    constexpr bool has_##name = detect_##name<T>::value;

DENIZEN_DETECT_BINARY(plus, +)
DENIZEN_DETECT_BINARY(minus, -)
DENIZEN_DETECT_BINARY(multiplies, *)
DENIZEN_DETECT_BINARY(divides, /)
#undef DENIZEN_DETECT_BINARY

#define DENIZEN_DETECT_COMPARISON(name, operation)                                               \
    template <class T>                                                                           \
    using name##_result =                                                                        \
        decltype(static_cast<bool>(std::declval<const T &>() operation std::declval<const T &>())); \
    template <class T>                                                                           \
    constexpr bool has_##name = is_detected<name##_result, T>;

DENIZEN_DETECT_COMPARISON(less, <)
DENIZEN_DETECT_COMPARISON(less_equal, <=)
DENIZEN_DETECT_COMPARISON(greater, >)
DENIZEN_DETECT_COMPARISON(greater_equal, >=)
DENIZEN_DETECT_COMPARISON(equal, ==)
DENIZEN_DETECT_COMPARISON(not_equal, !=)
#undef DENIZEN_DETECT_COMPARISON

/* `==` that can be instantiated: containers declare it for elements that have none. */
template <class T>
struct comparable : std::bool_constant<has_equal<T>> {};
template <class T>
struct comparable<std::vector<T>> : comparable<T> {};
template <class T, std::size_t N>
struct comparable<std::array<T, N>> : comparable<T> {};
template <class T>
struct comparable<std::optional<T>> : comparable<T> {};
template <class A, class B>
struct comparable<std::pair<A, B>> : std::conjunction<comparable<A>, comparable<B>> {};
template <class... Parts>
struct comparable<std::tuple<Parts...>> : std::conjunction<comparable<Parts>...> {};

template <class T>
using negate_result = decltype(-std::declval<const T &>());
template <class T, class = void>
struct detect_negate : std::false_type {};
template <class T>
struct detect_negate<T, std::void_t<negate_result<T>>> : std::is_convertible<negate_result<T>, T> {
};
template <class T>
constexpr bool has_negate = detect_negate<T>::value;

template <class T>
using plus_assign_result = decltype(std::declval<T &>() += std::declval<T>());
template <class T>
constexpr bool has_plus_assign = is_detected<plus_assign_result, T>;

template <class T>
using stream_result = decltype(std::declval<std::ostream &>() << std::declval<const T &>());
template <class T>
constexpr bool has_stream = is_detected<stream_result, T>;

namespace lookup {
using std::to_string;
template <class T>
using to_string_result = decltype(std::string(to_string(std::declval<const T &>())));
} // namespace lookup
template <class T>
constexpr bool has_to_string = is_detected<lookup::to_string_result, T>;

template <class T>
using hash_result = decltype(static_cast<std::size_t>(std::hash<T>{}(std::declval<const T &>())));
template <class T>
constexpr bool has_hash = is_detected<hash_result, T>;

} // namespace detail
} // namespace denizen

#endif
