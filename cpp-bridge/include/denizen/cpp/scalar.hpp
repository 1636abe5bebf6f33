/*
 * Single values to Python and back.
 */
#ifndef DENIZEN_CPP_SCALAR_HPP
#define DENIZEN_CPP_SCALAR_HPP

#include <denizen/denizen.h>

#include <type_traits>
#include <utility>

#include <denizen/cpp/array.hpp>
#include <denizen/cpp/reference.hpp>
#include <denizen/cpp/view.hpp>

namespace denizen __attribute__((visibility("hidden"))) {

/**
 * The Python scalar of a value: what `a[i]` gives for an element like it. Returns a new
 * reference. The GIL is held.
 * Throws python_error; error where T is not a registered element type; what the copy (of a
 *         lvalue) or move (of an rvalue) of a T throws.
 */
template <class Value>
[[nodiscard]] PyObject *to_python(Value &&value)
{
    using T = std::remove_cv_t<std::remove_reference_t<Value>>;
    const array<T> single = array<T>::empty({});
    single.view(vacant::keep).begin().emplace(std::forward<Value>(value));
    const detail::reference index = detail::reference::checked(PyTuple_New(0));
    return detail::reference::checked(PyObject_GetItem(single.ptr(), index.get())).release();
}

/**
 * The value of a Python object, read as `a[i] = object` reads it: a scalar of the class, or what
 * converts to one (numbers, text and so on, as the type says). A PyObject * or anything with
 * `.ptr()`. The GIL is held.
 * Throws python_error: what the assignment raises, TypeError where nothing converts; error where
 *         T is not a registered element type.
 */
template <class T, class Handle>
[[nodiscard]] T from_python(const Handle &handle)
{
    static_assert(std::is_move_constructible_v<T>, "denizen: a value to return must be movable");
    PyObject *object = detail::object_of(handle);
    if (object == nullptr) {
        throw std::invalid_argument("there is no Python object to read: NULL");
    }
    const array<T> single = array<T>::empty({});
    const detail::reference index = detail::reference::checked(PyTuple_New(0));
    if (PyObject_SetItem(single.ptr(), index.get(), object) != 0) {
        throw python_error();
    }
    /* A vacant cell reads as the default, which this builds. */
    (void)single.const_view();
    /* The runtime counts what is left in the cells of a view that keeps vacant ones, so that the
     * figures stay right where an object that was moved from is all zero. */
    const view<T> cells = single.view(vacant::keep);
    return T(std::move(*cells.begin()));
}

} // namespace denizen

#endif
