/*
 * denizen::take: the elements of a vector, moved into a new array.
 */
#ifndef DENIZEN_CPP_TAKE_HPP
#define DENIZEN_CPP_TAKE_HPP

#include <denizen/denizen.h>

#include <utility>
#include <vector>

#include <denizen/cpp/adopt.hpp>
#include <denizen/cpp/array.hpp>
#include <denizen/cpp/dimensions.hpp>
#include <denizen/cpp/view.hpp>

namespace denizen __attribute__((visibility("hidden"))) {

/**
 * Makes a new array of `shape` and moves the elements of a vector into it, in C order: for types
 * of any storage, those that cannot be copied too. Returns a new reference; the vector is empty
 * afterwards. The GIL is held.
 *
 * Where the array cannot be made, the vector is as it was. Where the move of an element throws,
 * the elements before it are gone, as they are where a range of them is moved, and the others
 * are still in the vector.
 *
 * Throws python_error: MemoryError, OverflowError or ValueError where there can be no such
 *         array; std::invalid_argument where the shape has another number of elements; error
 *         where T is not a registered element type; what the move of a T throws, and
 *         std::bad_alloc for boxed types.
 */
template <class T, class Allocator>
[[nodiscard]] PyObject *take(std::vector<T, Allocator> &&elements, const dimensions &shape)
{
    detail::require_count(shape, elements.size());
    array<T> result = array<T>::empty(shape);
    {
        const view<T> cells = result.view(vacant::keep);
        auto cell = cells.begin();
        for (T &element : elements) {
            cell.emplace(std::move(element));
            ++cell;
        }
    }
    elements.clear();
    return result.release();
}

/** The same for one dimension. */
template <class T, class Allocator>
[[nodiscard]] PyObject *take(std::vector<T, Allocator> &&elements)
{
    const dimensions shape(elements.size());
    return take(std::move(elements), shape);
}

} // namespace denizen

#endif
