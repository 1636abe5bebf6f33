/*
 * The installed runtime, and this module's handles of element types.
 *
 * Everything here needs the GIL.
 */
#ifndef DENIZEN_CPP_RUNTIME_HPP
#define DENIZEN_CPP_RUNTIME_HPP

#include <denizen/cpp/error.hpp>
#include <denizen/cpp/storage.hpp>

#include <cstring>
#include <string>
#include <typeinfo>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/* What this header calls: a runtime whose table ends earlier is refused. */
constexpr std::size_t needed_api_size = DENIZEN_API_SIZE_WITH(import_element);

inline const denizen_api *known_api = nullptr;

/* The table, or NULL with an exception set. */
inline const denizen_api *find_api() noexcept
{
    if (known_api == nullptr) {
        /* The package first: PyCapsule_Import hides why a module cannot be imported. */
        PyObject *package = PyImport_ImportModule("denizen");
        if (package == nullptr) {
            if (PyErr_ExceptionMatches(PyExc_ModuleNotFoundError)) {
                raised_state cause = raised_state::fetch();
                PyObject *name = PyObject_GetAttrString(cause.value, "name");
                const bool ours = name != nullptr && PyUnicode_Check(name) &&
                                  PyUnicode_CompareWithASCIIString(name, "denizen") == 0;
                Py_XDECREF(name);
                if (ours) {
                    PyErr_SetString(PyExc_ModuleNotFoundError,
                                    "this extension needs the Python package denizen, which is "
                                    "not installed: pip install denizen");
                } else {
                    cause.restore();
                }
                cause.release();
            }
            return nullptr;
        }
        Py_DECREF(package);
        known_api = denizen_import_sized(needed_api_size);
    }
    return known_api;
}

/** The function table of the runtime; imports the package once. Throws python_error. */
inline const denizen_api &api()
{
    const denizen_api *table = find_api();
    if (table == nullptr) {
        throw python_error();
    }
    return *table;
}

/** What this module knows about the element type that stores values of T. */
struct handle {
    /** NULL: neither registered nor imported by this module. */
    const denizen_element *element = nullptr;
    /** How objects sit in their cells. */
    storage stored_as = storage::boxed;
    /** What a zero cell means; `zero::vacant` where the cell is tagged or boxed. */
    zero zero_meaning = zero::vacant;
    /** Bytes of a cell. */
    std::size_t size = 0;
    /** Alignment of a cell. */
    std::size_t align = 0;
    /** First vacancy byte in a cell. */
    std::size_t vacancy_offset = 0;
    /** How many vacancy bytes. */
    std::size_t vacancy_size = 0;
    /** Whether `T()` or the author's default exists: vacant cells read as it. */
    bool has_default = false;
    /** Full name, `module.Name`; NULL while there is no element. Never freed. */
    const char *name = nullptr;
};

template <class T>
inline handle handle_of;

/**
 * The language name of a T: how the C++ ABI writes the type, and its storage, as in
 * `C++ St6vectorIdSaIdEE, inline`. Equal in all modules that use the same C++ ABI and standard
 * library, so it tells whether two modules mean the same type. (Types in anonymous namespaces of
 * different modules look the same; do not share those.)
 */
template <class T>
inline std::string language_name(storage stored_as)
{
    const char *how = stored_as == storage::inline_cells ? "inline"
                      : stored_as == storage::tagged     ? "tagged"
                                                    : "boxed";
    return std::string("C++ ") + typeid(T).name() + ", " + how;
}

/* A copy of the text that is never freed, or `known` where that says the same. */
inline const char *keep_text(const std::string &text, const char *known)
{
    if (known != nullptr && text == known) {
        return known;
    }
    char *copy = new char[text.size() + 1];
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

/* Notes the element of a T whose cells are `Cell`s. The name is never freed. */
template <class T, class Cell>
inline void set_handle(const denizen_element *element, const char *name, bool has_default) noexcept
{
    handle found;
    found.element = element;
    found.stored_as = Cell::stored_as;
    found.zero_meaning = Cell::zero_meaning;
    found.size = Cell::size;
    found.align = Cell::align;
    found.vacancy_offset = Cell::vacancy_offset;
    found.vacancy_size = Cell::vacancy_size;
    found.has_default = has_default;
    found.name = name;
    handle_of<T> = found;
}

/* What a vtable says about the cells of a T and about T itself. */
template <class T, storage Storage>
inline void describe_cell(denizen_element_vtable &vtable, const char *full_name,
                          const char *language_name) noexcept
{
    using cell = detail::cell<T, Storage>;
    vtable.struct_size = sizeof vtable;
    vtable.abi_version = DENIZEN_ABI_VERSION;
    vtable.name = full_name;
    vtable.language_name = language_name;
    vtable.size = cell::size;
    vtable.align = cell::align;
    vtable.storage = static_cast<denizen_storage>(Storage);
    vtable.zero_bytes =
        cell::zero_meaning == zero::default_value ? DENIZEN_ZERO_DEFAULT : DENIZEN_ZERO_VACANT;
    vtable.vacancy_offset = cell::vacancy_offset;
    vtable.vacancy_size = cell::vacancy_size;
    vtable.object_size = sizeof(T);
    vtable.object_align = alignof(T);
}

/** This module's handle of T. Throws denizen::error (TypeError) where there is none. */
template <class T>
inline const handle &registered()
{
    using value_type = std::remove_cv_t<T>;
    const handle &found = handle_of<value_type>;
    if (found.element == nullptr) {
        throw error(error_kind::type, std::string("the C++ type ") + typeid(value_type).name() +
                                          " is no element type in this module: register it with "
                                          "denizen::element<T>(..).add_to(module), or share it "
                                          "with denizen::import_element<T>(\"module.Name\")");
    }
    return found;
}

} // namespace detail

/**
 * Whether the runtime is installed and usable, for a module that treats denizen as optional.
 * Leaves no exception. GIL held.
 */
inline bool available() noexcept
{
    if (detail::known_api != nullptr) {
        return true;
    }
    detail::raised_state before = detail::raised_state::fetch();
    const bool found = detail::find_api() != nullptr;
    if (!found) {
        PyErr_Clear();
    }
    if (!before.empty()) {
        before.restore();
        before.release();
    }
    return found;
}

/**
 * Shares an element type that another module registered under `name` (`module.Name`): afterwards
 * views, arrays and operands of type T in this module mean that type. Imports the other module if
 * its type is not there yet. `Storage` is what the other module chose.
 *
 * Throws python_error: LookupError where there is no such type, TypeError where it is another one:
 * where size or alignment of T or of its cells, the storage, the meaning of zero bytes or the C++ type
 * differ, as with other macros or compiler flags; and denizen::error (ValueError) where this module
 * knows T under another name.
 */
template <class T, storage Storage = detail::default_storage<T>>
inline void import_element(const char *name)
{
    using cell = detail::cell<T, Storage>;
    const denizen_api &api = detail::api();
    const std::string language = detail::language_name<T>(Storage);
    denizen_element_vtable expected{};
    detail::describe_cell<T, Storage>(expected, name, language.c_str());
    const auto find = [&] { return api.import_element(&expected); };
    const denizen_element *element = find();
    if (element == nullptr) {
        const python_error failure;
        const char *dot = std::strrchr(name, '.');
        if (!failure.matches(PyExc_LookupError) || dot == nullptr) {
            throw failure;
        }
        const std::string module_name(name, static_cast<std::size_t>(dot - name));
        PyObject *module = PyImport_ImportModule(module_name.c_str());
        if (module == nullptr) {
            throw python_error();
        }
        Py_DECREF(module);
        element = find();
        if (element == nullptr) {
            throw python_error();
        }
    }
    const char *known = detail::handle_of<T>.name;
    if (known != nullptr && std::strcmp(known, name) != 0) {
        throw error(error_kind::value,
                    std::string(name) + ": its C++ type is known in this module as " + known);
    }
    detail::set_handle<T, cell>(element, detail::keep_text(name, known),
                                std::is_default_constructible_v<T>);
}

} // namespace denizen

#endif
