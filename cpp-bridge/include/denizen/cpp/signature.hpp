/*
 * What a callable takes and returns: which parameters it reads and which it writes.
 */
#ifndef DENIZEN_CPP_SIGNATURE_HPP
#define DENIZEN_CPP_SIGNATURE_HPP

#include <denizen/cpp/scalars.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

template <class... Types>
struct list {
    static constexpr std::size_t size = sizeof...(Types);
};

template <class A, class B>
struct concatenate;
template <class... A, class... B>
struct concatenate<list<A...>, list<B...>> {
    using type = list<A..., B...>;
};

template <class Signature>
struct signature;
template <class R, class... A>
struct signature<R(A...)> {
    using result = R;
    using arguments = list<A...>;
};
template <class R, class... A>
struct signature<R(A...) noexcept> : signature<R(A...)> {};

template <class F, class = void>
struct callable {
    static constexpr bool known = false;
};
template <class R, class... A>
struct callable<R (*)(A...), void> : signature<R(A...)> {
    static constexpr bool known = true;
};
template <class R, class... A>
struct callable<R (*)(A...) noexcept, void> : signature<R(A...)> {
    static constexpr bool known = true;
};
template <class Member>
struct call_operator;
#define DENIZEN_CALL_OPERATOR(qualifiers)                                                        \
    template <class C, class R, class... A>                                                      \
    struct call_operator<R (C::*)(A...) qualifiers> : signature<R(A...)> {                       \
        static constexpr bool known = true;                                                      \
    };
DENIZEN_CALL_OPERATOR()
DENIZEN_CALL_OPERATOR(const)
DENIZEN_CALL_OPERATOR(noexcept)
DENIZEN_CALL_OPERATOR(const noexcept)
#undef DENIZEN_CALL_OPERATOR
template <class F>
struct callable<F, std::void_t<decltype(&F::operator())>> : call_operator<decltype(&F::operator())> {
};

/** Whether a parameter is written by the callable: `U &`. */
template <class A>
constexpr bool is_written =
    std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>;

/* Splits the parameters of a callable into those that it writes and those that it reads. */
template <class Written, class Read, class Rest>
struct split;
template <class... W, class... R>
struct split<list<W...>, list<R...>, list<>> {
    using written = list<W...>;
    using read = list<R...>;
};
template <class... W, class... R, class A, class... Rest>
struct split<list<W...>, list<R...>, list<A, Rest...>>
    : std::conditional_t<is_written<A>,
                         split<list<W..., remove_cvref<A>>, list<R...>, list<Rest...>>,
                         split<list<W...>, list<R..., remove_cvref<A>>, list<Rest...>>> {
    static_assert(!is_written<A> || sizeof...(R) == 0,
                  "denizen: the outputs of a callable, which are references that are not const, "
                  "come before its inputs");
};

/* The outputs of a callable that returns them. `Self` may itself be a pair. */
template <class Self, class R>
struct returned {
    using types = list<R>;
};
template <class Self, class A, class B>
struct returned<Self, std::pair<A, B>> {
    using types =
        std::conditional_t<std::is_same_v<Self, std::pair<A, B>>, list<Self>, list<A, B>>;
};
template <class Self, class... R>
struct returned<Self, std::tuple<R...>> {
    using types =
        std::conditional_t<std::is_same_v<Self, std::tuple<R...>>, list<Self>, list<R...>>;
};

} // namespace detail
} // namespace denizen

#endif
