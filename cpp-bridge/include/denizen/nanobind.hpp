/*
 * denizen beside nanobind: exceptions that arrive as themselves, and denizen::array<T> as argument
 * and result. Optional; nothing else of denizen includes nanobind.
 *
 *     NB_MODULE(my_types, module)
 *     {
 *         denizen::register_nanobind();
 *         module.def("total", [](const denizen::array<real> &a) { .. });
 *         module.def("first", [](nb::object a) { return denizen::view<const real>(a).at(0); });
 *     }
 */
#ifndef DENIZEN_NANOBIND_HPP
#define DENIZEN_NANOBIND_HPP

#if __cplusplus < 201703L
#error "denizen needs C++17: compile with -std=c++17 or a later one"
#else

#include <denizen/denizen.h>

#include <exception>
#include <optional>

#include <nanobind/nanobind.h>

#include <denizen/cpp/array.hpp>
#include <denizen/cpp/error.hpp>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/* Functions that run in loops and casts may throw what nanobind throws. */
inline bool restore_nanobind_error()
{
    try {
        throw;
    } catch (nanobind::python_error &error) {
        error.restore();
        return true;
    } catch (...) {
        return false;
    }
}

} // namespace detail

/**
 * Makes denizen's exceptions Python ones in the functions of nanobind modules: python_error is the
 * exception that it carries, denizen::error the one of its kind. Also, Python exceptions of
 * nanobind that functions of an element type throw keep their type. Once, where the module is made.
 */
inline void register_nanobind()
{
    detail::add_exception_hook(detail::restore_nanobind_error);
    nanobind::register_exception_translator(
        [](const std::exception_ptr &thrown, void *) { detail::raise_ours(thrown); }, nullptr);
}

} // namespace denizen

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

/** denizen::array<T>: an array of exactly T's dtype, not converted. */
template <class T>
struct type_caster<denizen::array<T>> {
    NB_TYPE_CASTER(denizen::array<T>, const_name("numpy.ndarray"))

    bool from_python(handle source, uint8_t, cleanup_list *) noexcept
    {
        try {
            if (!denizen::array<T>::check(source.ptr())) {
                return false;
            }
            value = denizen::array<T>::from_python(source);
            return true;
        } catch (...) {
            return false;
        }
    }
    static handle from_cpp(const denizen::array<T> &array, rv_policy, cleanup_list *) noexcept
    {
        return array.to_python();
    }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)

#endif
#endif
