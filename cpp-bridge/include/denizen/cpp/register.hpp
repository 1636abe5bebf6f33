/*
 * Registration: the builder's description as the structs that the runtime reads.
 */
#ifndef DENIZEN_CPP_REGISTER_HPP
#define DENIZEN_CPP_REGISTER_HPP

#include <denizen/cpp/element.hpp>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/** The `__name__` of a module. Throws python_error. */
inline std::string module_name(PyObject *module)
{
    const char *name = PyModule_GetName(module);
    if (name == nullptr) {
        throw python_error();
    }
    return name;
}

} // namespace detail

template <class T, storage Storage>
denizen_element_vtable element<T, Storage>::make_vtable(const std::string &full_name,
                                                        const std::string &language_name) const
{
    denizen_element_vtable vtable{};
    detail::describe_cell<T, Storage>(vtable, full_name.c_str(), language_name.c_str());
    vtable.flags = DENIZEN_ELEMENT_TRIVIALLY_RELOCATABLE | flags_;
    vtable.context = hooks_.get();
    if constexpr (std::is_default_constructible_v<T>) {
        vtable.construct = &operations::construct;
    }
    if (construct_ != nullptr) {
        vtable.construct = construct_;
    }
    if constexpr (copyable) {
        vtable.copy_construct = &operations::copy_construct;
        if constexpr (std::is_copy_assignable_v<T>) {
            vtable.assign = &operations::assign;
        }
    }
    if constexpr (cell::needs_destroy) {
        vtable.destroy = &operations::destroy;
    }
    vtable.compare = compare_;
    vtable.sort = sort_;
    vtable.argsort = argsort_;
    if (keyed_sort_ != nullptr && compare_ != nullptr) {
        hooks_->compare_cells = compare_;
        vtable.sort = keyed_sort_;
        vtable.argsort = keyed_argsort_;
    }
    vtable.nonzero = nonzero_;
    vtable.hash = hash_;
    vtable.heap_bytes = heap_bytes_;
    vtable.to_text = to_text_;
    vtable.from_text = from_text_;
    vtable.save = save_;
    vtable.load = load_;
    if (save_ == nullptr && text_codec_ != nullptr) {
        vtable.save = text_codec_;
        vtable.load = from_text_;
    }
    vtable.to_python = to_python_;
    vtable.from_python = from_python_;
    return vtable;
}

template <class T, storage Storage>
template <class Module>
void element<T, Storage>::add_to(const Module &module_handle)
{
    PyObject *module = detail::python_object(module_handle);
    const denizen_api &api = detail::api();
    const std::string full_name =
        (module_.empty() ? detail::module_name(module) : module_) + "." + name_;
    if (detail::handle_of<T>.element != nullptr && full_name != detail::handle_of<T>.name) {
        throw error(error_kind::value,
                    full_name + ": its C++ type is known in this module as " +
                        detail::handle_of<T>.name +
                        " already; derive a class from it for a second element type");
    }
    const std::string language_name = detail::language_name<T>(Storage);
    const denizen_element_vtable vtable = make_vtable(full_name, language_name);

    std::vector<denizen_loop> loops;
    for (const detail::loop_entry &entry : loops_) {
        denizen_loop loop{};
        loop.struct_size = sizeof loop;
        loop.ufunc = entry.ufunc.c_str();
        loop.operands = entry.operands.data();
        loop.input_count = static_cast<std::uint32_t>(entry.inputs);
        loop.output_count = static_cast<std::uint32_t>(entry.operands.size() - entry.inputs);
        loop.function = entry.function;
        loop.context = entry.context;
        loops.push_back(loop);
    }
    std::vector<denizen_cast> casts;
    for (const detail::cast_entry &entry : casts_) {
        denizen_cast cast{};
        cast.struct_size = sizeof cast;
        cast.from = entry.from;
        cast.to = entry.to;
        cast.level = static_cast<denizen_cast_level>(entry.level);
        cast.function = entry.function;
        cast.context = entry.context;
        casts.push_back(cast);
    }
    std::vector<denizen_identity> identities;
    for (const detail::identity_entry &entry : identities_) {
        denizen_identity identity{};
        identity.struct_size = sizeof identity;
        identity.ufunc = entry.ufunc.c_str();
        identity.construct = entry.construct;
        identity.context = entry.context;
        identities.push_back(identity);
    }
    denizen_element_spec spec{};
    spec.struct_size = sizeof spec;
    spec.vtable = &vtable;
    spec.loops = loops.data();
    spec.loop_count = loops.size();
    spec.casts = casts.data();
    spec.cast_count = casts.size();
    spec.identities = identities.data();
    spec.identity_count = identities.size();
    spec.scalar_class = scalar_class_;
    spec.documentation = documentation_.empty() ? nullptr : documentation_.c_str();

#ifndef NDEBUG
    detail::probe_promises<T, Storage>(full_name, default_, probe_);
#endif

    /* Room for what stays, before anything has to. */
    if (detail::kept == nullptr) {
        detail::kept = new std::vector<std::shared_ptr<void>>;
    }
    detail::kept->reserve(detail::kept->size() + owners_.size() + 1);
    const char *kept_name = detail::keep_text(full_name, detail::handle_of<T>.name);

    /* The functions are called as soon as the type is known. A T that is known in this module already
     * is in use, with its own values; the runtime refuses it another time. */
    const bool first = detail::handle_of<T>.element == nullptr;
    const detail::default_maker default_before = detail::default_of<T>;
    const detail::zero_maker<T> zero_before = detail::zero_of<T>;
    if (first) {
        detail::default_of<T> = default_;
        detail::zero_of<T> = zero_;
    }
    const denizen_element *registered = nullptr;
    const denizen_status status = api.register_element(&spec, module, &registered);
    if (registered == nullptr) {
        const python_error failure;
        detail::default_of<T> = default_before;
        detail::zero_of<T> = zero_before;
        if (kept_name != detail::handle_of<T>.name) {
            delete[] kept_name;
        }
        throw failure;
    }
    /* Also where it failed: NumPy has its class then, which refers to all of this. */
    detail::kept->insert(detail::kept->end(), owners_.begin(), owners_.end());
    detail::kept->push_back(hooks_);
    detail::set_handle<T, cell>(registered, kept_name,
                                std::is_default_constructible_v<T> || default_.make != nullptr);
    if (status != DENIZEN_OK) {
        throw python_error();
    }
}

} // namespace denizen

#endif
