/*
 * Cells whose storage is known only when the program runs: a builder may choose another storage
 * than T's own, and views are compiled without knowing.
 */
#ifndef DENIZEN_CPP_ANY_CELL_HPP
#define DENIZEN_CPP_ANY_CELL_HPP

#include <denizen/denizen.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include <denizen/cpp/storage.hpp>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/** Which storages T can have at all. */
template <class T>
constexpr bool can_be_tagged =
    is_trivially_relocatable<T>::value && alignof(T) <= largest_alignment;
template <class T>
constexpr bool can_be_inline = can_be_tagged<T> && zero_bytes<T>::value != zero::no_promise;

/** Calls `work` with the cell type of the storage, one that T can have. */
template <class T, class Work>
constexpr decltype(auto) with_cell(storage stored_as, Work &&work)
{
    if constexpr (can_be_inline<T>) {
        if (stored_as == storage::inline_cells) {
            return work(cell<T, storage::inline_cells>());
        }
    }
    if constexpr (can_be_tagged<T>) {
        if (stored_as == storage::tagged) {
            return work(cell<T, storage::tagged>());
        }
    }
    return work(cell<T, storage::boxed>());
}

/** The object in a live cell. */
template <class T>
T *object_in(storage stored_as, void *address) noexcept
{
    if (can_be_tagged<T> && stored_as != storage::boxed) {
        /* Inline and tagged cells begin with the object. */
        return std::launder(static_cast<T *>(address));
    }
    return cell<T, storage::boxed>::object(address);
}

/** Whether no object lives in a cell. */
template <class T>
bool cell_is_vacant(storage stored_as, const void *address) noexcept
{
    return with_cell<T>(stored_as, [&](auto cell) { return cell.vacant(address); });
}

/** Bytes of a cell. */
template <class T>
std::size_t cell_size(storage stored_as) noexcept
{
    return with_cell<T>(stored_as, [](auto cell) { return cell.size; });
}

/**
 * Whether cells are vacant while an object can be built in them without losing one: always, where
 * zero bytes are the default with nothing to destroy.
 */
template <class T>
bool zeroed(storage stored_as, const void *address) noexcept
{
    return with_cell<T>(stored_as, [&](auto cell) {
        const auto *bytes = static_cast<const unsigned char *>(address) + cell.vacancy_offset;
        return denizen_is_vacant(bytes, cell.vacancy_size) != 0;
    });
}

/** Builds an object in a cell without one; where that throws, the cell stays vacant. */
template <class T, class... Arguments>
T &emplace_in(storage stored_as, void *address, Arguments &&...arguments)
{
    return *with_cell<T>(stored_as, [&](auto cell) {
        return cell.emplace(address, std::forward<Arguments>(arguments)...);
    });
}

/** Does not compile for types that are not stored inline, and names the promise that is missing. */
template <class T>
constexpr void require_inline()
{
    static_assert(is_trivially_relocatable<T>::value,
                  "denizen: data(), span() and adopt() need T inline in its cells, and T does not "
                  "promise denizen::is_trivially_relocatable<T>; specialise it as std::true_type "
                  "if T may be moved with memcpy, else use iterators, operator() and take()");
    static_assert(zero_bytes<T>::value != zero::no_promise,
                  "denizen: data(), span() and adopt() need T inline in its cells, and T does not "
                  "promise denizen::zero_bytes<T>; specialise it if zero bytes are never an object "
                  "or are the default one, else use iterators, operator() and take()");
    static_assert(alignof(T) <= largest_alignment,
                  "denizen: data(), span() and adopt() need T inline in its cells, and T is "
                  "aligned to more than the 16 bytes that NumPy knows; use iterators, operator() "
                  "and take()");
}

} // namespace detail
} // namespace denizen

#endif
