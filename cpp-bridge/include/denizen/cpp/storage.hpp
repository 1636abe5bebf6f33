/*
 * How an object sits in its cell: inline, tagged or boxed.
 *
 * The choice is a template argument, so that every loop is compiled for the one that its type
 * uses, and the question whether a cell is vacant costs one comparison or nothing. In all three a
 * cell can be moved with memcpy, and a cell whose vacancy bytes are zero is vacant.
 */
#ifndef DENIZEN_CPP_STORAGE_HPP
#define DENIZEN_CPP_STORAGE_HPP

#include <denizen/cpp/traits.hpp>

#include <cstdint>
#include <cstring>
#include <new>

namespace denizen __attribute__((visibility("hidden"))) {

/** How an object sits in its cell. */
enum class storage : std::uint32_t {
    /** The cell is exactly T. Needs both promises: relocatable, and what zero bytes mean. */
    inline_cells = DENIZEN_STORAGE_INLINE,
    /** T and a tag byte; tag 0 is vacant. Needs a relocatable T. */
    tagged = DENIZEN_STORAGE_TAGGED,
    /** One owning pointer. Needs nothing; an object keeps its address while it lives. */
    boxed = DENIZEN_STORAGE_BOXED
};

namespace detail {

/** The largest alignment that NumPy's own buffers have. */
constexpr std::size_t largest_alignment = 16;

template <class T>
constexpr storage choose_storage()
{
    if (!is_trivially_relocatable<T>::value || alignof(T) > largest_alignment) {
        return storage::boxed;
    }
    return zero_bytes<T>::value == zero::no_promise ? storage::tagged : storage::inline_cells;
}

/** The storage of a T whose author chose none. */
template <class T>
constexpr storage default_storage = choose_storage<T>();

/** Whether `size` bytes are zero; a constant size that is a multiple of `align` reads words. */
template <std::size_t Size, std::size_t Align>
inline bool all_zero(const void *bytes) noexcept
{
    using word = std::conditional_t<
        Align % 8 == 0, std::uint64_t,
        std::conditional_t<Align % 4 == 0, std::uint32_t,
                           std::conditional_t<Align % 2 == 0, std::uint16_t, std::uint8_t>>>;
    const auto *next = static_cast<const unsigned char *>(bytes);
    for (std::size_t left = Size; left >= sizeof(word); left -= sizeof(word)) {
        word value;
        std::memcpy(&value, next, sizeof value);
        if (value != 0) {
            return false;
        }
        next += sizeof value;
    }
    return true;
}

/*
 * A cell of type T. All functions take the address of an aligned cell:
 *   vacant(cell)       no object lives there; `cell` is zeroed or live
 *   object(cell)       the object of a live cell
 *   emplace(cell, ..)  builds an object in a vacant cell, whose bytes may be anything; where that
 *                      throws the cell is vacant (its vacancy bytes are zero)
 *   emplace_from(cell, make)   the same from the T that `make()` returns, without a move
 *   destroy(cell)      ends the object of a live cell; its bytes mean nothing afterwards
 *   vacate(cell)       marks a cell without an object as vacant
 */
template <class T, storage Storage>
struct cell;

/* Clears the bytes of a cell unless told that an object was built there. */
template <std::size_t Size>
struct scrub {
    void *bytes;
    ~scrub()
    {
        if (bytes != nullptr) {
            std::memset(bytes, 0, Size);
        }
    }
};

template <class T, class... Arguments>
inline T *build(void *address, Arguments &&...arguments)
{
    if constexpr (std::is_nothrow_constructible_v<T, Arguments &&...>) {
        return ::new (address) T(std::forward<Arguments>(arguments)...);
    } else {
        /* A constructor that throws may have written half an object. */
        scrub<sizeof(T)> guard{address};
        T *object = ::new (address) T(std::forward<Arguments>(arguments)...);
        guard.bytes = nullptr;
        return object;
    }
}

/* The same from a function that returns a T, or something that converts to one: a T is built
 * directly at the address. */
template <class T, class Make>
inline T *build_from(void *address, Make &&make)
{
    scrub<sizeof(T)> guard{address};
    T *object = ::new (address) T(make());
    guard.bytes = nullptr;
    return object;
}

/** The bytes of an inline cell that tell: all of T, or the part of a never_zero promise. */
template <class T, class = void>
struct telling {
    static constexpr std::size_t offset = 0;
    static constexpr std::size_t size = sizeof(T);
};
template <class T>
struct telling<T, std::void_t<decltype(zero_bytes<T>::offset), decltype(zero_bytes<T>::size)>> {
    static constexpr std::size_t offset = zero_bytes<T>::offset;
    static constexpr std::size_t size = zero_bytes<T>::size;
    static_assert(size > 0 && offset + size <= sizeof(T),
                  "denizen: never_zero<offset, size> speaks of bytes that T does not have");
};

template <class T>
struct cell<T, storage::inline_cells> {
    static_assert(zero_bytes<T>::value != zero::no_promise,
                  "denizen: inline cells need a promise about zero bytes: specialise "
                  "denizen::zero_bytes<T>, or choose storage::tagged");
    static_assert(is_trivially_relocatable<T>::value,
                  "denizen: inline cells are moved with memcpy: specialise "
                  "denizen::is_trivially_relocatable<T> if T allows it, or choose storage::boxed");
    static_assert(alignof(T) <= largest_alignment,
                  "denizen: NumPy aligns to at most 16 bytes: choose storage::boxed");

    static constexpr storage stored_as = storage::inline_cells;
    static constexpr zero zero_meaning = zero_bytes<T>::value;
    static constexpr std::size_t size = sizeof(T);
    static constexpr std::size_t align = alignof(T);
    static constexpr std::size_t vacancy_offset = telling<T>::offset;
    static constexpr std::size_t vacancy_size = telling<T>::size;
    static constexpr bool needs_destroy = !std::is_trivially_destructible_v<T>;

    static bool vacant(const void *cell) noexcept
    {
        if constexpr (zero_meaning == zero::default_value) {
            (void)cell;
            return false;
        } else {
            constexpr bool whole_words =
                vacancy_offset % alignof(T) == 0 && vacancy_size % alignof(T) == 0;
            return all_zero<vacancy_size, whole_words ? alignof(T) : 1>(
                static_cast<const unsigned char *>(cell) + vacancy_offset);
        }
    }
    static T *object(void *cell) noexcept { return std::launder(static_cast<T *>(cell)); }
    static const T *object(const void *cell) noexcept
    {
        return std::launder(static_cast<const T *>(cell));
    }
    template <class... Arguments>
    static T *emplace(void *cell, Arguments &&...arguments)
    {
        return build<T>(cell, std::forward<Arguments>(arguments)...);
    }
    template <class Make>
    static T *emplace_from(void *cell, Make &&make)
    {
        return build_from<T>(cell, make);
    }
    static void destroy(void *cell) noexcept(std::is_nothrow_destructible_v<T>)
    {
        object(cell)->~T();
    }
    static void vacate(void *cell) noexcept { std::memset(cell, 0, sizeof(T)); }
};

template <class T>
struct cell<T, storage::tagged> {
    static_assert(is_trivially_relocatable<T>::value,
                  "denizen: tagged cells are moved with memcpy: specialise "
                  "denizen::is_trivially_relocatable<T> if T allows it, or choose storage::boxed");
    static_assert(alignof(T) <= largest_alignment,
                  "denizen: NumPy aligns to at most 16 bytes: choose storage::boxed");

    /** The object comes first. */
    struct layout {
        alignas(T) unsigned char bytes[sizeof(T)];
        unsigned char tag;
    };

    static constexpr storage stored_as = storage::tagged;
    static constexpr zero zero_meaning = zero::vacant;
    static constexpr std::size_t size = sizeof(layout);
    static constexpr std::size_t align = alignof(layout);
    static constexpr std::size_t vacancy_offset = offsetof(layout, tag);
    static constexpr std::size_t vacancy_size = 1;
    static constexpr bool needs_destroy = !std::is_trivially_destructible_v<T>;

    static unsigned char *tag(void *cell) noexcept
    {
        return static_cast<unsigned char *>(cell) + vacancy_offset;
    }
    static bool vacant(const void *cell) noexcept
    {
        return static_cast<const unsigned char *>(cell)[vacancy_offset] == 0;
    }
    static T *object(void *cell) noexcept { return std::launder(static_cast<T *>(cell)); }
    static const T *object(const void *cell) noexcept
    {
        return std::launder(static_cast<const T *>(cell));
    }
    template <class... Arguments>
    static T *emplace(void *cell, Arguments &&...arguments)
    {
        /* The tag comes last: it never speaks of an object that is not there. */
        *tag(cell) = 0;
        T *object = ::new (cell) T(std::forward<Arguments>(arguments)...);
        *tag(cell) = 1;
        return object;
    }
    template <class Make>
    static T *emplace_from(void *cell, Make &&make)
    {
        *tag(cell) = 0;
        T *object = ::new (cell) T(make());
        *tag(cell) = 1;
        return object;
    }
    static void destroy(void *cell) noexcept(std::is_nothrow_destructible_v<T>)
    {
        object(cell)->~T();
    }
    static void vacate(void *cell) noexcept { *tag(cell) = 0; }
};

template <class T>
struct cell<T, storage::boxed> {
    static constexpr storage stored_as = storage::boxed;
    static constexpr zero zero_meaning = zero::vacant;
    static constexpr std::size_t size = sizeof(T *);
    static constexpr std::size_t align = alignof(T *);
    static constexpr std::size_t vacancy_offset = 0;
    static constexpr std::size_t vacancy_size = sizeof(T *);
    static constexpr bool needs_destroy = true;

    static T *pointer(const void *cell) noexcept
    {
        T *object;
        std::memcpy(&object, cell, sizeof object);
        return object;
    }
    static void set(void *cell, T *object) noexcept { std::memcpy(cell, &object, sizeof object); }
    static bool vacant(const void *cell) noexcept { return pointer(cell) == nullptr; }
    static T *object(void *cell) noexcept { return pointer(cell); }
    static const T *object(const void *cell) noexcept { return pointer(cell); }
    template <class... Arguments>
    static T *emplace(void *cell, Arguments &&...arguments)
    {
        set(cell, nullptr);
        T *object = new T(std::forward<Arguments>(arguments)...);
        set(cell, object);
        return object;
    }
    template <class Make>
    static T *emplace_from(void *cell, Make &&make)
    {
        set(cell, nullptr);
        T *object = new T(make());
        set(cell, object);
        return object;
    }
    static void destroy(void *cell) noexcept(std::is_nothrow_destructible_v<T>)
    {
        delete pointer(cell);
    }
    static void vacate(void *cell) noexcept { set(cell, nullptr); }
};

} // namespace detail
} // namespace denizen

#endif
