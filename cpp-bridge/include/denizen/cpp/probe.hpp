/*
 * The probe of debug builds: looks at objects of a type for what its promises rule out.
 *
 * It finds most false promises, not all: an object that points into itself only in some states
 * passes if it is never in such a state here.
 */
#ifndef DENIZEN_CPP_PROBE_HPP
#define DENIZEN_CPP_PROBE_HPP

#include <denizen/cpp/loops.hpp>

#include <memory>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/* Memory for one object, cleared, with room in front and behind. */
template <class T>
struct probe_memory {
    alignas(T) unsigned char bytes[sizeof(T)] = {};
    T *object() noexcept { return std::launder(reinterpret_cast<T *>(bytes)); }
};

/* The compiler takes these bytes for read and written here: stores before it are made, and what
 * a constructor leaves alone is still what they stored. */
inline void keep_bytes(void *memory) noexcept
{
    __asm__ volatile("" : : "r"(memory) : "memory");
}

/** Whether a word of the object is an address inside of it (or just behind its last byte). */
template <class T>
inline bool points_into_itself(const void *object) noexcept
{
    const auto start = reinterpret_cast<std::uintptr_t>(object);
    const auto *bytes = static_cast<const unsigned char *>(object);
    for (std::size_t at = 0; at + sizeof start <= sizeof(T); at += sizeof start) {
        std::uintptr_t word;
        std::memcpy(&word, bytes + at, sizeof word);
        if (word >= start && word <= start + sizeof(T)) {
            return true;
        }
    }
    return false;
}

template <class T, storage Storage>
inline void check_object(const std::string &name, const void *object)
{
    if constexpr (Storage != storage::boxed) {
        if (points_into_itself<T>(object)) {
            throw error(error_kind::type,
                        name + ": an object of the C++ type " + typeid(T).name() +
                            " points into itself, so it cannot be moved as bytes: the promise "
                            "denizen::is_trivially_relocatable is false for it. Take it back, or "
                            "choose .storage<denizen::storage::boxed>()");
        }
    }
    if constexpr (Storage == storage::inline_cells && zero_vacates<T>) {
        if (cell<T, Storage>::vacant(object)) {
            throw error(error_kind::type,
                        name + ": an object of the C++ type " + typeid(T).name() +
                            " has only zero bytes: the promise denizen::zero_bytes, "
                            "zero::vacant (or of never_zero), is false for it. Take it back, or choose "
                            ".storage<denizen::storage::tagged>()");
        }
    }
}

/** Checks one object and a copy of it. */
template <class T, storage Storage, class Build>
inline void probe_object(const std::string &name, Build &&build)
{
    /* On the heap, so that no pointer to another local variable looks like one into the object. */
    auto memory = std::make_unique<probe_memory<T>>();
    keep_bytes(memory->bytes);
    build(static_cast<void *>(memory->bytes));
    keep_bytes(memory->bytes);
    struct destroyer {
        T *object;
        ~destroyer() { destroy_quietly(object); }
    } first{memory->object()};
    check_object<T, Storage>(name, memory->bytes);
    if constexpr (is_copyable<T>::value) {
        auto other = std::make_unique<probe_memory<T>>();
        keep_bytes(other->bytes);
        ::new (static_cast<void *>(other->bytes)) T(*memory->object());
        keep_bytes(other->bytes);
        destroyer second{other->object()};
        check_object<T, Storage>(name, other->bytes);
    }
}

/**
 * Looks at the default value of a type and at the author's sample. Throws denizen::error
 * (TypeError) that names the type and the promise.
 */
template <class T, storage Storage>
inline void probe_promises(const std::string &name, const default_maker &given,
                           const default_maker &sample)
{
    if constexpr (Storage == storage::boxed) {
        (void)name, (void)given, (void)sample;
        return;
    }
    if constexpr (std::is_default_constructible_v<T>) {
        probe_object<T, Storage>(name, [](void *address) { ::new (address) T(); });
    }
    if (given.make != nullptr) {
        probe_object<T, Storage>(name, [&](void *address) { given.make(given.state, address); });
    }
    if (sample.make != nullptr) {
        probe_object<T, Storage>(name, [&](void *address) { sample.make(sample.state, address); });
    }
    if constexpr (Storage == storage::inline_cells && zero_defaults<T> && comparable<T>::value &&
                  std::is_default_constructible_v<T>) {
        /* Zero bytes must be an object that equals the default value; it is not destroyed, as the
         * promise allows. What a default constructor does not initialise contradicts nothing: it
         * is zero in memory that was. */
        auto zeroed = std::make_unique<probe_memory<T>>();
        auto memory = std::make_unique<probe_memory<T>>();
        keep_bytes(memory->bytes);
        ::new (static_cast<void *>(memory->bytes)) T();
        keep_bytes(memory->bytes);
        struct destroyer {
            T *object;
            ~destroyer() { destroy_quietly(object); }
        } value{memory->object()};
        const T &zero_object = *zeroed->object();
        if (zero_object == zero_object && !(zero_object == *memory->object())) {
            throw error(error_kind::type,
                        name + ": an object of zero bytes of the C++ type " + typeid(T).name() +
                            " differs from its default value: the promise denizen::zero_bytes, "
                            "zero::default_value, is false for it");
        }
    }
}

} // namespace detail
} // namespace denizen

#endif
