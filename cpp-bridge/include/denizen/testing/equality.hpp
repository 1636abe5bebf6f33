/*
 * When two values are the same to a lifecheck.
 */
#ifndef DENIZEN_TESTING_EQUALITY_HPP
#define DENIZEN_TESTING_EQUALITY_HPP

#include <denizen/testing/fault_injected.hpp>

#include <memory>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {

/**
 * Whether values are compared, and how: by `==` where T has one. Where two values of the same
 * number differ all the same (NaN, `==` of addresses), those are not compared; specialise this
 * to have them compared in another way.
 */
template <class T, class = void>
struct equality {
    static constexpr bool known = denizen::detail::comparable<T>::value;
    static bool same(const T &left, const T &right)
    {
        if constexpr (known) {
            return static_cast<bool>(left == right);
        } else {
            return true;
        }
    }
};

/** By what they point to. */
template <class P>
struct pointed_equality {
    using target = std::remove_cv_t<typename P::element_type>;
    static constexpr bool known = equality<target>::known;
    static bool same(const P &left, const P &right)
    {
        return left && right ? equality<target>::same(*left, *right) : !left == !right;
    }
};
template <class T>
struct equality<std::unique_ptr<T>, std::enable_if_t<std::is_object_v<T> && !std::is_array_v<T>>>
    : pointed_equality<std::unique_ptr<T>> {};
template <class T>
struct equality<std::shared_ptr<T>, std::enable_if_t<std::is_object_v<T> && !std::is_array_v<T>>>
    : pointed_equality<std::shared_ptr<T>> {};

template <class T>
struct equality<fault_injected<T>> {
    static constexpr bool known = equality<T>::known;
    static bool same(const fault_injected<T> &left, const fault_injected<T> &right)
    {
        return equality<T>::same(left.value, right.value);
    }
};

} // namespace testing
} // namespace denizen

#endif
