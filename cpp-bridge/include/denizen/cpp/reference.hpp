/*
 * A Python object that is kept as long as this lives.
 */
#ifndef DENIZEN_CPP_REFERENCE_HPP
#define DENIZEN_CPP_REFERENCE_HPP

#include <denizen/denizen.h>

#include <type_traits>
#include <utility>

#include <denizen/cpp/error.hpp>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/** An owned reference, or NULL. The GIL is held in all of its functions. */
class reference
{
public:
    reference() noexcept = default;
    /** Takes over a new reference. */
    static reference owned(PyObject *object) noexcept
    {
        reference result;
        result.object_ = object;
        return result;
    }
    /**
     * Takes over a new reference.
     * Throws python_error, with the exception that is set, where it is NULL.
     */
    static reference checked(PyObject *object)
    {
        if (object == nullptr) {
            throw python_error();
        }
        return owned(object);
    }
    /** Adds a reference. */
    static reference borrowed(PyObject *object) noexcept
    {
        Py_XINCREF(object);
        return owned(object);
    }
    reference(const reference &other) noexcept : object_(other.object_)
    {
        Py_XINCREF(object_);
    }
    reference(reference &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    reference &operator=(reference other) noexcept
    {
        std::swap(object_, other.object_);
        return *this;
    }
    ~reference()
    {
        Py_XDECREF(object_);
    }

    PyObject *get() const noexcept
    {
        return object_;
    }
    PyObject *release() noexcept
    {
        return std::exchange(object_, nullptr);
    }

private:
    PyObject *object_ = nullptr;
};

/**
 * The Python object of a handle: a PyObject *, or anything with `.ptr()` (pybind11, nanobind,
 * denizen::array). Borrowed.
 * Throws python_error where it is NULL because a call before it failed.
 */
template <class Handle>
PyObject *object_of(const Handle &handle)
{
    PyObject *object = nullptr;
    if constexpr (std::is_convertible_v<const Handle &, PyObject *>) {
        object = handle;
    } else {
        object = handle.ptr();
    }
    if (object == nullptr && PyErr_Occurred() != nullptr) {
        throw python_error();
    }
    return object;
}

/** A Python exception that is on its way, put aside while a destructor uses Python. */
class pending_exception
{
public:
    pending_exception() noexcept
    {
        if (PyErr_Occurred() != nullptr) {
            state_ = raised_state::fetch();
        }
    }
    pending_exception(const pending_exception &) = delete;
    pending_exception &operator=(const pending_exception &) = delete;
    ~pending_exception()
    {
        if (!state_.empty()) {
            state_.restore();
            state_.release();
        }
    }

private:
    raised_state state_;
};

} // namespace detail
} // namespace denizen

#endif
