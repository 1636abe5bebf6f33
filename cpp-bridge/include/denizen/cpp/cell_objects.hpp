/*
 * Objects in cells: default values, cells of another element type, and what ends and replaces
 * objects.
 */
#ifndef DENIZEN_CPP_CELL_OBJECTS_HPP
#define DENIZEN_CPP_CELL_OBJECTS_HPP

#include <denizen/cpp/reference.hpp>
#include <denizen/cpp/runtime.hpp>
#include <denizen/cpp/scalars.hpp>

#include <functional>
#include <tuple>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/* ---- default values ------------------------------------------------------------------------- */

/** How a vacant cell's value is made, where the author said so. */
struct default_maker {
    void (*make)(void *state, void *address) = nullptr;
    void *state = nullptr;
};

template <class T>
inline default_maker default_of;

template <class T>
[[gnu::cold, noreturn]] inline void fail_vacant()
{
    const char *name = handle_of<T>.name;
    throw error(error_kind::vacant, std::string("a cell that holds no object was read, and ") +
                                        (name != nullptr ? name : typeid(T).name()) +
                                        " has no default value");
}

/** Builds the default value of T. */
template <class T>
[[gnu::cold, gnu::noinline]] inline void make_default(void *address)
{
    if (default_of<T>.make != nullptr) {
        default_of<T>.make(default_of<T>.state, address);
    } else if constexpr (std::is_default_constructible_v<T>) {
        ::new (address) T();
    } else {
        fail_vacant<T>();
    }
}

/** Destroys an object where no caller can be told that its destructor failed: Python reports it as
 * unraisable where the GIL is held. Loops without it do not wait for it to tell. */
template <class T>
inline void destroy_quietly(T *object) noexcept
{
    if constexpr (std::is_nothrow_destructible_v<T>) {
        object->~T();
    } else if (holds_gil()) {
        const pending_exception pending;
        if (guard([&] { object->~T(); }) != 0) {
            PyErr_WriteUnraisable(nullptr);
        }
    } else {
        try {
            object->~T();
        } catch (...) {
        }
    }
}

/** A T that is built when it is first needed. */
template <class T>
class lazy {
public:
    lazy() noexcept {}
    lazy(const lazy &) = delete;
    lazy &operator=(const lazy &) = delete;
    ~lazy()
    {
        if (made_) {
            destroy_quietly(object());
        }
    }
    T &default_value()
    {
        if (!made_) {
            make_default<T>(bytes_);
            made_ = true;
        }
        return *object();
    }
    T &plain()
    {
        if (!made_) {
            ::new (static_cast<void *>(bytes_)) T();
            made_ = true;
        }
        return *object();
    }
    T &copy_of(const T &sample)
    {
        if (!made_) {
            ::new (static_cast<void *>(bytes_)) T(sample);
            made_ = true;
        }
        return *object();
    }

private:
    T *object() noexcept { return std::launder(reinterpret_cast<T *>(bytes_)); }

    alignas(T) unsigned char bytes_[sizeof(T)];
    bool made_ = false;
};

/* ---- cells ---------------------------------------------------------------------------------- */

/* The cells of an element type whose storage this module knows at run time only: another type
 * than the one being registered. */
template <class U>
struct foreign_cell {
    static constexpr bool relocatable =
        is_trivially_relocatable<U>::value && alignof(U) <= largest_alignment;
    static constexpr bool promised = relocatable && zero_bytes<U>::value != zero::no_promise;

    template <class F>
    static decltype(auto) visit(F &&f)
    {
        if constexpr (relocatable) {
            if (handle_of<U>.stored_as == storage::tagged) {
                return f(cell<U, storage::tagged>{});
            }
        }
        if constexpr (promised) {
            if (handle_of<U>.stored_as == storage::inline_cells) {
                return f(cell<U, storage::inline_cells>{});
            }
        }
        return f(cell<U, storage::boxed>{});
    }
    static bool vacant(const void *cell) noexcept
    {
        return visit([&](auto known) { return decltype(known)::vacant(cell); });
    }
    static U *object(void *cell) noexcept
    {
        return visit([&](auto known) { return decltype(known)::object(cell); });
    }
    static const U *object(const void *cell) noexcept
    {
        return visit([&](auto known) { return decltype(known)::object(cell); });
    }
    template <class... Arguments>
    static U *emplace(void *cell, Arguments &&...arguments)
    {
        return visit([&](auto known) {
            return decltype(known)::emplace(cell, std::forward<Arguments>(arguments)...);
        });
    }
    template <class Make>
    static U *emplace_from(void *cell, Make &&make)
    {
        return visit([&](auto known) { return decltype(known)::emplace_from(cell, make); });
    }
    static void destroy(void *cell)
    {
        visit([&](auto known) { decltype(known)::destroy(cell); });
    }
    static void vacate(void *cell) noexcept
    {
        visit([&](auto known) { decltype(known)::vacate(cell); });
    }
};

/** Ends the object of a live cell and leaves the cell vacant, even where the destructor throws. */
template <class Cell>
inline void end_object(void *cell)
{
    struct vacate {
        void *cell;
        ~vacate() { Cell::vacate(cell); }
    } guard{cell};
    Cell::destroy(cell);
}

/** Puts what `make()` returns into a cell, vacant or live. It may read the old object. */
template <class T, class Cell, class Make>
inline void put(void *cell, Make &&make)
{
    using result = decltype(make());
    if (Cell::vacant(cell)) {
        Cell::emplace_from(cell, make);
    } else if constexpr (std::is_assignable_v<T &, result>) {
        *Cell::object(cell) = make();
    } else if constexpr (std::is_move_constructible_v<T>) {
        T value(make());
        end_object<Cell>(cell);
        Cell::emplace(cell, std::move(value));
    } else {
        static_assert(Cell::stored_as == storage::boxed,
                      "denizen: a T that can be neither assigned nor moved must be stored boxed");
        T *value = new T(make());
        std::unique_ptr<T> old(Cell::object(cell));
        Cell::set(cell, value);
    }
}

} // namespace detail
} // namespace denizen

#endif
