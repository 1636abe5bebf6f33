/*
 * denizen beside pybind11: exceptions that arrive as themselves, and denizen::array<T> as argument
 * and result. Optional; nothing else of denizen includes pybind11.
 *
 *     PYBIND11_MODULE(my_types, module)
 *     {
 *         denizen::register_pybind11();
 *         module.def("total", [](const denizen::array<real> &a) { .. });
 *         module.def("first", [](py::object a) { return denizen::view<const real>(a).at(0); });
 *     }
 */
#ifndef DENIZEN_PYBIND11_HPP
#define DENIZEN_PYBIND11_HPP

#if __cplusplus < 201703L
#error "denizen needs C++17: compile with -std=c++17 or a later one"
#else

#include <denizen/denizen.h>

#include <exception>
#include <optional>

#include <pybind11/pybind11.h>

#include <denizen/cpp/array.hpp>
#include <denizen/cpp/error.hpp>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/* Functions that run in loops and casts may throw what pybind11 throws. */
inline bool restore_pybind11_error()
{
    try {
        throw;
    } catch (pybind11::error_already_set &error) {
        error.restore();
        return true;
    } catch (const pybind11::builtin_exception &error) {
        error.set_error();
        return true;
    } catch (...) {
        return false;
    }
}

} // namespace detail

/**
 * Makes denizen's exceptions Python ones in the functions of this module: python_error is the
 * exception that it carries, denizen::error the one of its kind. Also, exceptions of pybind11 that
 * functions of an element type throw keep their Python type. Once, where the module is made.
 */
inline void register_pybind11()
{
    detail::add_exception_hook(detail::restore_pybind11_error);
    pybind11::register_local_exception_translator(
        [](std::exception_ptr thrown) { detail::raise_ours(thrown); });
}

} // namespace denizen

namespace PYBIND11_NAMESPACE {
namespace detail {

/** denizen::array<T>: an array of exactly T's dtype, not converted. */
template <class T>
struct type_caster<denizen::array<T>> {
    PYBIND11_TYPE_CASTER(denizen::array<T>, const_name("numpy.ndarray"));

    bool load(handle source, bool)
    {
        if (!denizen::array<T>::check(source.ptr())) {
            return false;
        }
        value = denizen::array<T>::from_python(source);
        return true;
    }
    static handle cast(const denizen::array<T> &array, return_value_policy, handle)
    {
        return array.to_python();
    }
};

} // namespace detail
} // namespace PYBIND11_NAMESPACE

#endif
#endif
