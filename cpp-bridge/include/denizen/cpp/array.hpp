/*
 * denizen::array<T>: a NumPy array of T that C++ holds.
 */
#ifndef DENIZEN_CPP_ARRAY_HPP
#define DENIZEN_CPP_ARRAY_HPP

#include <denizen/denizen.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <denizen/cpp/dimensions.hpp>
#include <denizen/cpp/error.hpp>
#include <denizen/cpp/reference.hpp>
#include <denizen/cpp/runtime.hpp>
#include <denizen/cpp/view.hpp>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/** Whether an object is a NumPy array (or of a subclass), without NumPy's header. */
inline bool is_ndarray(PyObject *object)
{
    const reference numpy = reference::checked(PyImport_ImportModule("numpy"));
    const reference type = reference::checked(PyObject_GetAttrString(numpy.get(), "ndarray"));
    const int is = PyObject_IsInstance(object, type.get());
    if (is < 0) {
        throw python_error();
    }
    return is != 0;
}

/** `str(object)` in UTF-8. */
inline std::string text_of(PyObject *object)
{
    const reference text = reference::checked(PyObject_Str(object));
    Py_ssize_t size = 0;
    const char *bytes = PyUnicode_AsUTF8AndSize(text.get(), &size);
    if (bytes == nullptr) {
        throw python_error();
    }
    return std::string(bytes, static_cast<std::size_t>(size));
}
} // namespace detail

/**
 * A reference to a NumPy array whose elements are T. Copies refer to the same array, as in
 * Python; one that was moved from, or made without an array, holds NULL and may be assigned to.
 *
 * The GIL is held in all of its functions, its destructor included.
 */
template <class T>
class array
{
    static_assert(std::is_same_v<T, std::remove_cv_t<T>>, "denizen: an array is of plain T");

public:
    using value_type = T;

    /** No array: NULL. */
    array() noexcept = default;

    /**
     * A new array of default values; none is built before it is looked at.
     * Throws python_error: ValueError, OverflowError or MemoryError for a shape that cannot be.
     * Throws error where T is not a registered element type.
     */
    static array empty(const dimensions &shape)
    {
        const auto &element = detail::registered<T>();
        return steal(detail::api().empty(element.element, shape.count(), shape.data()));
    }

    /** The same: NumPy's zeros are default values. */
    static array zeros(const dimensions &shape)
    {
        return empty(shape);
    }

    /** The dtype: a new reference. */
    static PyObject *dtype()
    {
        PyObject *dtype = detail::api().dtype(detail::registered<T>().element);
        if (dtype == nullptr) {
            throw python_error();
        }
        return dtype;
    }

    /** Whether an object is an array of exactly this dtype. */
    static bool check(PyObject *object)
    {
        if (object == nullptr || !detail::is_ndarray(object)) {
            return false;
        }
        const detail::reference actual =
            detail::reference::checked(PyObject_GetAttrString(object, "dtype"));
        const detail::reference expected = detail::reference::checked(dtype());
        return Py_TYPE(actual.get()) == Py_TYPE(expected.get());
    }

    /**
     * Refers to an array that Python knows: a PyObject * or anything with `.ptr()`.
     * Throws error (TypeError), saying what it got, where it is no array of exactly this dtype.
     */
    template <class Handle>
    static array from_python(const Handle &handle)
    {
        PyObject *object = detail::object_of(handle);
        if (check(object)) {
            return array(detail::reference::borrowed(object));
        }
        std::string got = "NULL";
        if (object != nullptr && detail::is_ndarray(object)) {
            const detail::reference actual =
                detail::reference::checked(PyObject_GetAttrString(object, "dtype"));
            got = "an array of " + detail::text_of(actual.get());
        } else if (object != nullptr) {
            got = detail::text_of(reinterpret_cast<PyObject *>(Py_TYPE(object)));
        }
        throw error(error_kind::type, std::string("expected an array of ") +
                                          detail::registered<T>().name + ", got " + got);
    }

    /**
     * Takes over a new reference, as take() and adopt() return one.
     * Throws python_error where it is NULL, with the exception that is set; error as
     *         from_python() does.
     */
    static array steal(PyObject *object)
    {
        const detail::reference owned = detail::reference::checked(object);
        return from_python(owned.get());
    }

    /** The array: a new reference (NULL where there is none). */
    PyObject *to_python() const noexcept
    {
        return detail::reference(object_).release();
    }

    /** Gives the reference away. */
    PyObject *release() noexcept
    {
        return object_.release();
    }

    /** The array, borrowed. */
    PyObject *ptr() const noexcept
    {
        return object_.get();
    }

    explicit operator bool() const noexcept
    {
        return ptr() != nullptr;
    }

    /** Elements along each dimension, now: Python can resize an array. */
    dimensions shape() const
    {
        const detail::reference shape =
            detail::reference::checked(PyObject_GetAttrString(ptr(), "shape"));
        std::vector<std::ptrdiff_t> lengths;
        for (Py_ssize_t axis = 0; axis < PyTuple_Size(shape.get()); axis++) {
            lengths.push_back(PyLong_AsSsize_t(PyTuple_GetItem(shape.get(), axis)));
        }
        return dimensions(lengths);
    }

    /** How many elements, now. */
    std::ptrdiff_t size() const
    {
        return shape().product();
    }

    /** Its elements to write; see denizen::view. */
    denizen::view<T> view(vacant policy = vacant::fill) const
    {
        return denizen::view<T>(ptr(), policy);
    }

    /** Its elements to read; see denizen::view. */
    denizen::view<const T> const_view(vacant policy = vacant::fill) const
    {
        return denizen::view<const T>(ptr(), policy);
    }

private:
    explicit array(detail::reference object) noexcept : object_(std::move(object)) {}

    detail::reference object_;
};

} // namespace denizen

#endif
