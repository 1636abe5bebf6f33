/*
 * A T with faults injected: it throws where it is told to: the stand-in that shows what exceptions do.
 *
 * It has the bytes, the promises and the operations of its T. Its own part, two empty base classes, counts
 * objects, and throws before or after T's construction, copy, assignment or move, where T's may throw.
 */
#ifndef DENIZEN_TESTING_FAULT_INJECTED_HPP
#define DENIZEN_TESTING_FAULT_INJECTED_HPP

#include <denizen/cpp/traits.hpp>

#include <stdexcept>
#include <type_traits>
#include <utility>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {

/** What a planned failure throws, unless it is an int. */
struct planned_failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

namespace detail {

/** What fails, and when. */
struct fault_plan {
    /** Steps until one throws; negative: none is planned. */
    long countdown = -1;
    /** It throws an int, which is no std::exception. */
    bool odd = false;
    /** Destructors until one throws. */
    long destructor_countdown = -1;
};
inline fault_plan planned;

inline void fault_step()
{
    if (planned.countdown >= 0 && planned.countdown-- == 0) {
        if (planned.odd) {
            throw 42;
        }
        throw planned_failure("a planned exception");
    }
}

/* Objects of fault_injected<T> that are alive. */
template <class T>
inline long fault_injected_alive = 0;

template <class T, bool Before>
struct interpose {
    static constexpr bool ends_quietly = std::is_nothrow_destructible_v<T>;

    interpose() noexcept(std::is_nothrow_default_constructible_v<T>)
    {
        step<std::is_nothrow_default_constructible_v<T>>();
        count(1);
    }
    /** Of a value that the lifecheck's closure makes, which may always throw. */
    explicit interpose(int)
    {
        step<false>();
        count(1);
    }
    interpose(const interpose &) noexcept(std::is_nothrow_copy_constructible_v<T>)
    {
        step<std::is_nothrow_copy_constructible_v<T>>();
        count(1);
    }
    interpose(interpose &&) noexcept(std::is_nothrow_move_constructible_v<T>)
    {
        step<std::is_nothrow_move_constructible_v<T>>();
        count(1);
    }
    interpose &operator=(const interpose &) noexcept(std::is_nothrow_copy_assignable_v<T>)
    {
        step<std::is_nothrow_copy_assignable_v<T>>();
        return *this;
    }
    interpose &operator=(interpose &&) noexcept(std::is_nothrow_move_assignable_v<T>)
    {
        step<std::is_nothrow_move_assignable_v<T>>();
        return *this;
    }
    ~interpose() noexcept(ends_quietly)
    {
        count(-1);
        if constexpr (Before && !ends_quietly) {
            if (planned.destructor_countdown >= 0 && planned.destructor_countdown-- == 0) {
                throw planned_failure("a planned exception of a destructor");
            }
        }
    }

private:
    template <bool Quiet>
    static void step() noexcept(Quiet)
    {
        if constexpr (!Quiet) {
            fault_step();
        }
    }
    static void count(long change) noexcept
    {
        if (Before) {
            fault_injected_alive<T> += change;
        }
    }
};

/* The T of fault_injected<T>. Its members are written out, to promise what T promises: the promise of an implicit
 * assignment counts T's operator only, not the copy that `T &operator=(T)` takes, and std::terminate
 * would answer an exception of that copy. Where T lacks an operation, its member takes what there is none
 * of, and the implicit one is deleted. */
template <class T>
struct held {
    struct none;
    template <bool There>
    using other_if = std::conditional_t<There, held, none>;

    T value;
    held() = default;
    held(const other_if<std::is_copy_constructible_v<T>> &other)
        noexcept(std::is_nothrow_copy_constructible_v<T>)
        : value(other.value)
    {
    }
    held(other_if<std::is_move_constructible_v<T>> &&other)
        noexcept(std::is_nothrow_move_constructible_v<T>)
        : value(std::move(other.value))
    {
    }
    held &operator=(const other_if<std::is_copy_assignable_v<T>> &other)
        noexcept(std::is_nothrow_copy_assignable_v<T>)
    {
        value = other.value;
        return *this;
    }
    held &operator=(other_if<std::is_move_assignable_v<T>> &&other)
        noexcept(std::is_nothrow_move_assignable_v<T>)
    {
        value = std::move(other.value);
        return *this;
    }
    template <class Make>
    held(Make &make, int) : value(make())
    {
    }
};

} // namespace detail

template <class T>
struct fault_injected : private detail::interpose<T, true>,
                        public detail::held<T>,
                        private detail::interpose<T, false> {
    fault_injected() = default;
    /** From the T that `make()` returns, without a move. */
    template <class Make>
    fault_injected(Make &make, int)
        : detail::interpose<T, true>(0), detail::held<T>(make, 0), detail::interpose<T, false>(0)
    {
    }
};

} // namespace testing

template <class T>
struct is_trivially_relocatable<testing::fault_injected<T>> : is_trivially_relocatable<T> {};
template <class T>
struct zero_bytes<testing::fault_injected<T>> : zero_bytes<T> {};
template <class T>
struct is_copyable<testing::fault_injected<T>> : is_copyable<T> {};

} // namespace denizen

#endif
