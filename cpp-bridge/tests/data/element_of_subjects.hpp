/*
 * Registers the types of subjects.hpp through the C table, with what the tests need and no more:
 * they live, copy, compare, and are read from text and from Python's int.
 */
#ifndef DENIZEN_TESTS_ELEMENT_OF_SUBJECTS_HPP
#define DENIZEN_TESTS_ELEMENT_OF_SUBJECTS_HPP

#include "subjects.hpp"

#include <cstdlib>

namespace subjects {

template <class T>
struct functions {
    using cell = denizen::detail::cell<T, denizen::detail::default_storage<T>>;

    template <class F>
    static denizen_status each(denizen_error *error_out, std::size_t count, F &&f)
    {
        return denizen::detail::guarded(error_out, [&] {
            for (error_out->done = 0; error_out->done < count; error_out->done++) {
                f(static_cast<std::ptrdiff_t>(error_out->done));
            }
        });
    }
    static denizen_status construct(void *, std::uint8_t *cells, std::ptrdiff_t stride,
                                    std::size_t count, denizen_error *error_out)
    {
        return each(error_out, count, [&](std::ptrdiff_t i) { cell::emplace(cells + i * stride); });
    }
    static denizen_status copy(void *, std::uint8_t *to, std::ptrdiff_t to_stride,
                               const std::uint8_t *from, std::ptrdiff_t from_stride,
                               std::size_t count, denizen_error *error_out)
    {
        return each(error_out, count, [&](std::ptrdiff_t i) {
            cell::emplace(to + i * to_stride, *cell::object(from + i * from_stride));
        });
    }
    static denizen_status destroy(void *, std::uint8_t *cells, std::ptrdiff_t stride,
                                  std::size_t count, denizen_error *error_out)
    {
        return each(error_out, count, [&](std::ptrdiff_t i) { cell::destroy(cells + i * stride); });
    }
    static denizen_status compare(void *, const std::uint8_t *left, const std::uint8_t *right,
                                  std::int32_t *result, denizen_error *)
    {
        const T &a = *cell::object(left);
        const T &b = *cell::object(right);
        *result = (b < a) - (a < b);
        return DENIZEN_OK;
    }
    static denizen_status to_text(void *, const std::uint8_t *from, denizen_sink *sink,
                                  denizen_error *)
    {
        const std::string text = cell::vacant(from) ? "0" : text_of(*cell::object(from));
        return sink->write(sink, reinterpret_cast<const std::uint8_t *>(text.data()), text.size());
    }
    static denizen_status from_text(void *, std::uint8_t *to, const std::uint8_t *bytes,
                                    std::size_t size, denizen_error *error_out)
    {
        const std::string text(reinterpret_cast<const char *>(bytes), size);
        char *end = nullptr;
        const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
        if (text.empty() || *end != '\0') {
            return denizen_fail(error_out, DENIZEN_ERROR_VALUE, "not a number");
        }
        return denizen::detail::guarded(error_out, [&] {
            if (cell::vacant(to)) {
                cell::emplace(to, number);
            } else {
                *cell::object(to) = T(number);
            }
        });
    }
};

/* Adds the class and the dtype of T to a module. */
template <class T>
void add_to(PyObject *module, const char *name)
{
    using cell = denizen::detail::cell<T, denizen::detail::default_storage<T>>;
    using functions = subjects::functions<T>;
    const std::string language = denizen::detail::language_name<T>(cell::stored_as);
    denizen_element_vtable vtable = {};
    vtable.struct_size = sizeof vtable;
    vtable.abi_version = DENIZEN_ABI_VERSION;
    vtable.flags = DENIZEN_ELEMENT_TRIVIALLY_RELOCATABLE;
    vtable.name = name;
    vtable.language_name = language.c_str();
    vtable.size = cell::size;
    vtable.align = cell::align;
    vtable.storage = static_cast<denizen_storage>(cell::stored_as);
    vtable.zero_bytes = cell::zero_meaning == denizen::zero::vacant ? DENIZEN_ZERO_VACANT
                                                                    : DENIZEN_ZERO_DEFAULT;
    vtable.vacancy_offset = cell::vacancy_offset;
    vtable.vacancy_size = cell::vacancy_size;
    vtable.to_text = functions::to_text;
    if constexpr (std::is_default_constructible_v<T>) {
        vtable.construct = functions::construct;
    }
    if constexpr (std::is_copy_constructible_v<T>) {
        vtable.copy_construct = functions::copy;
    }
    if constexpr (!std::is_trivially_destructible_v<T>) {
        vtable.destroy = functions::destroy;
    }
    if constexpr (std::is_constructible_v<T, std::int64_t>) {
        vtable.compare = functions::compare;
        vtable.from_text = functions::from_text;
    }
    denizen_element_spec spec = {};
    spec.struct_size = sizeof spec;
    spec.vtable = &vtable;
    const denizen_element *element = nullptr;
    if (denizen::detail::api().register_element(&spec, module, &element) != DENIZEN_OK) {
        throw denizen::python_error();
    }
    denizen::detail::set_handle<T, cell>(element, name, std::is_default_constructible_v<T>);
}

} // namespace subjects

#endif
