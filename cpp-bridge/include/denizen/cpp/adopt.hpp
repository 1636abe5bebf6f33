/*
 * denizen::adopt: an array over memory that C++ owns.
 */
#ifndef DENIZEN_CPP_ADOPT_HPP
#define DENIZEN_CPP_ADOPT_HPP

#include <denizen/denizen.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <denizen/cpp/any_cell.hpp>
#include <denizen/cpp/dimensions.hpp>
#include <denizen/cpp/error.hpp>
#include <denizen/cpp/reference.hpp>
#include <denizen/cpp/runtime.hpp>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/** What an adopting array keeps alive: on the heap, in the hands of the runtime. */
template <class Owner>
struct kept_owner {
    Owner owner;

    /**
     * Ends it, with the GIL held, on whichever thread let the last view go. A destructor that
     * throws is reported where Python reports what nobody can catch.
     */
    static void release(void *kept) noexcept
    {
        const pending_exception pending;
        bool failed = false;
        try {
            delete static_cast<kept_owner *>(kept);
        } catch (...) {
            failed = true;
        }
        if (failed) {
            PyErr_SetString(PyExc_RuntimeError,
                            "the destructor of an adopted array's owner threw an exception");
            PyErr_WriteUnraisable(nullptr);
        }
    }
};

/** How an owner is kept: a Python object by a reference, anything else by itself. */
template <class Owner>
auto keep_owner(Owner &&owner)
{
    using plain = std::decay_t<Owner>;
    if constexpr (std::is_convertible_v<plain, PyObject *>) {
        PyObject *object = object_of(owner);
        if (object == nullptr) {
            throw std::invalid_argument("the owner of the memory to adopt is NULL");
        }
        return std::make_unique<kept_owner<reference>>(
            kept_owner<reference>{reference::borrowed(object)});
    } else {
        static_assert(!std::is_pointer_v<plain>,
                      "denizen: a plain pointer keeps nothing alive; adopt memory with an owner: "
                      "a PyObject *, a std::shared_ptr, a std::unique_ptr or another object that "
                      "frees it");
        return std::unique_ptr<kept_owner<plain>>(
            new kept_owner<plain>{std::forward<Owner>(owner)});
    }
}

/** Makes the array. The owner is released once, when the last view is gone or now. */
template <class T, class Owner>
PyObject *adopt_cells(const T *data, bool read_only, const dimensions &shape,
                      const dimensions *strides, std::unique_ptr<kept_owner<Owner>> owner)
{
    const auto &element = registered<T>();
    if (strides != nullptr && strides->count() != shape.count()) {
        throw std::invalid_argument("the shape " + shape.text() + " and the strides " +
                                    strides->text() + " differ in their dimensions");
    }
    PyObject *array = api().adopt(
        element.element, reinterpret_cast<std::uint8_t *>(const_cast<T *>(data)), shape.count(),
        shape.data(), strides == nullptr ? nullptr : strides->data(), owner.release(),
        kept_owner<Owner>::release, read_only ? DENIZEN_ADOPT_READ_ONLY : 0);
    if (array == nullptr) {
        throw python_error();
    }
    return array;
}

/** A shape for all elements of a vector. */
inline void require_count(const dimensions &shape, std::size_t count)
{
    if (shape.product() != as_length(count)) {
        throw std::invalid_argument(std::to_string(count) + " elements do not fit the shape " +
                                    shape.text());
    }
}

/** Elements of an adopted vector are ended by the vector. */
template <class T>
constexpr void require_adoptable()
{
    require_inline<T>();
    static_assert(std::is_nothrow_destructible_v<T>,
                  "denizen: T's destructor may throw, and a std::vector of such elements ends the "
                  "program when one does: use denizen::take");
}
} // namespace detail

/**
 * Makes an array of `shape` and `strides` (in bytes; 0 or negative where you like) over memory
 * at `data` that holds live objects: no copy. Returns a new reference.
 *
 * `owner` keeps the memory: a Python object (a reference to it is held), a std::shared_ptr, or any
 * object, which is moved or copied into the array's hands. It ends once, when the last view of
 * the array is gone, on the thread that lets it go, with the GIL held; also where this fails,
 * unless it was not moved from yet. An exception of its destructor is reported as unraisable.
 *
 * The elements belong to the owner: it alone destroys them, and Python finds, changes and sorts
 * objects there but never ends one or leaves a cell without one. `denizen.owner(a)` is "adopted",
 * and `a.resize()` is refused. Over `const T *` the array is not writeable.
 *
 * What others can still do to the owner is between them and the array: nothing may move or end
 * the elements (a push_back that reallocates, a clear) or change them behind running loops while
 * a view of the array lives.
 *
 * Only for types stored inline: else it does not compile, and says which promise is missing.
 *
 * Throws python_error: ValueError where the memory is not aligned, cells overlap, or `data` is
 *         NULL and the shape is not empty; OverflowError where it exceeds the address space.
 * Throws error where T is not a registered element type; std::invalid_argument where shape and
 *         strides differ in dimensions.
 */
template <class T, class Owner>
[[nodiscard]] PyObject *adopt(T *data, const dimensions &shape, const dimensions &strides,
                              Owner &&owner)
{
    using value = std::remove_const_t<T>;
    detail::require_inline<value>();
    return detail::adopt_cells<value>(data, std::is_const_v<T>, shape, &strides,
                                      detail::keep_owner(std::forward<Owner>(owner)));
}

/** The same for elements that lie one after the other in C order. */
template <class T, class Owner>
[[nodiscard]] PyObject *adopt(T *data, const dimensions &shape, Owner &&owner)
{
    using value = std::remove_const_t<T>;
    detail::require_inline<value>();
    return detail::adopt_cells<value>(data, std::is_const_v<T>, shape, nullptr,
                                      detail::keep_owner(std::forward<Owner>(owner)));
}

/**
 * Makes an array of `shape` over the elements of a vector, which it takes over: no copy. Nobody
 * else can grow it any more. Where this fails after the vector was taken, its elements end.
 * Throws as above; std::invalid_argument where the shape has another number of elements.
 */
template <class T, class Allocator>
[[nodiscard]] PyObject *adopt(std::vector<T, Allocator> &&elements, const dimensions &shape)
{
    detail::require_adoptable<T>();
    detail::require_count(shape, elements.size());
    auto owner = detail::keep_owner(std::move(elements));
    const T *data = owner->owner.data();
    return detail::adopt_cells<T>(data, false, shape, nullptr, std::move(owner));
}

/** A one-dimensional array over the elements of a vector, which it takes over. */
template <class T, class Allocator>
[[nodiscard]] PyObject *adopt(std::vector<T, Allocator> &&elements)
{
    const dimensions shape(elements.size());
    return adopt(std::move(elements), shape);
}

/**
 * A one-dimensional array over the elements that a shared vector has now. It stays the same
 * memory: whoever else holds the vector may change elements under the GIL, and must not let it
 * grow, shrink or reallocate while a view of the array lives: that is undefined behaviour, as for
 * any reference to an element. To grow such a vector, make a new one and adopt that; the old one
 * lives until its last view is gone.
 * Throws as above; std::invalid_argument for an empty pointer.
 */
template <class T, class Allocator>
[[nodiscard]] PyObject *adopt(std::shared_ptr<std::vector<T, Allocator>> elements)
{
    detail::require_adoptable<T>();
    if (elements == nullptr) {
        throw std::invalid_argument("there is no vector to adopt: the pointer is empty");
    }
    T *data = elements->data();
    const dimensions shape(elements->size());
    return adopt(data, shape, std::move(elements));
}

/** The same for a vector that nobody changes: the array is not writeable. */
template <class T, class Allocator>
[[nodiscard]] PyObject *adopt(std::shared_ptr<const std::vector<T, Allocator>> elements)
{
    detail::require_adoptable<T>();
    if (elements == nullptr) {
        throw std::invalid_argument("there is no vector to adopt: the pointer is empty");
    }
    const T *data = elements->data();
    const dimensions shape(elements->size());
    return adopt(data, shape, std::move(elements));
}

} // namespace denizen

#endif
