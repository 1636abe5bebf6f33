/*
 * Text, bytes and Python objects of single values.
 */
#ifndef DENIZEN_CPP_TEXT_HPP
#define DENIZEN_CPP_TEXT_HPP

#include <denizen/cpp/operations.hpp>

#include <locale>
#include <optional>
#include <sstream>
#include <string_view>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/** The text of a T: its `<<` in the classic locale, else its `to_string`. */
template <class T>
struct natural_text {
    std::string operator()(const T &value) const
    {
        if constexpr (std::is_same_v<T, std::string>) {
            return value;
        } else if constexpr (has_stream<T>) {
            std::ostringstream stream;
            stream.imbue(std::locale::classic());
            stream << value;
            if (!stream) {
                throw error(error_kind::value, "writing the value as text failed");
            }
            return std::move(stream).str();
        } else {
            using std::to_string;
            return std::string(to_string(value));
        }
    }
};

/** A T from its text: its constructor from std::string. */
template <class T>
struct natural_parse {
    T operator()(std::string_view text) const { return T(std::string(text)); }
};

inline void write_sink(denizen_sink *sink, const void *bytes, std::size_t size)
{
    if (sink->write(sink, static_cast<const std::uint8_t *>(bytes), size) != DENIZEN_OK) {
        throw std::bad_alloc();
    }
}

/** Whether F loads from a pointer and a size; else it does from a std::string_view. */
template <class F>
constexpr bool loads_bytes = std::is_invocable_v<F &, const std::uint8_t *, std::size_t>;

template <class F>
inline decltype(auto) call_load(F &load, const std::uint8_t *bytes, std::size_t size)
{
    if constexpr (loads_bytes<F>) {
        return load(bytes, size);
    } else {
        return load(std::string_view(reinterpret_cast<const char *>(bytes), size));
    }
}

/* A new reference out of what a function of the author returned: a PyObject *, or an owning
 * object of a binding library, which has `release()` and `ptr()`. */
template <class R>
inline PyObject *new_reference(R &&result)
{
    if constexpr (std::is_pointer_v<remove_cvref<R>>) {
        return result;
    } else {
        return result.release().ptr();
    }
}

template <class T, class Cell>
struct conversions {
    template <class F>
    static denizen_status to_text(void *context, const std::uint8_t *cell, denizen_sink *sink,
                                  denizen_error *error_out) noexcept
    {
        F &text = *static_cast<F *>(static_cast<hooks *>(context)->to_text);
        return save_with(text, cell, sink, error_out);
    }

    template <class F>
    static denizen_status save(void *context, const std::uint8_t *cell, denizen_sink *sink,
                               denizen_error *error_out) noexcept
    {
        F &function = *static_cast<F *>(static_cast<hooks *>(context)->save);
        return save_with(function, cell, sink, error_out);
    }

    template <class F>
    static denizen_status from_text(void *context, std::uint8_t *cell, const std::uint8_t *bytes,
                                    std::size_t size, denizen_error *error_out) noexcept
    {
        F &parse = *static_cast<F *>(static_cast<hooks *>(context)->from_text);
        return load_with(parse, cell, bytes, size, error_out);
    }

    template <class F>
    static denizen_status load(void *context, std::uint8_t *cell, const std::uint8_t *bytes,
                               std::size_t size, denizen_error *error_out) noexcept
    {
        F &function = *static_cast<F *>(static_cast<hooks *>(context)->load);
        return load_with(function, cell, bytes, size, error_out);
    }

    /** Pickles as text, but only a value that its text gives back. */
    template <class Text, class Parse>
    static denizen_status save_checked_text(void *context, const std::uint8_t *cell,
                                            denizen_sink *sink, denizen_error *error_out) noexcept
    {
        Text &text = *static_cast<Text *>(static_cast<hooks *>(context)->to_text);
        Parse &parse = *static_cast<Parse *>(static_cast<hooks *>(context)->from_text);
        return guarded(error_out, [&] {
            cell_input<T, Cell> input;
            const T &value = input.get(cell);
            const std::string written(text(value));
            bool same = false;
            if constexpr (has_equal<T>) {
                const T again(parse(std::string_view(written)));
                same = static_cast<bool>(again == value) ||
                       (!static_cast<bool>(value == value) && !static_cast<bool>(again == again));
            }
            if (!same) {
                throw error(error_kind::type,
                            std::string(handle_of<T>.name != nullptr ? handle_of<T>.name : "?") +
                                " cannot be pickled: its text does not give the value back; the "
                                "type needs .codec(save, load)");
            }
            write_sink(sink, written.data(), written.size());
        });
    }

    template <class F>
    static PyObject *to_python(void *context, const std::uint8_t *cell,
                               denizen_error *error_out) noexcept
    {
        F &function = *static_cast<F *>(static_cast<hooks *>(context)->to_python);
        PyObject *object = nullptr;
        const denizen_status status = guarded(error_out, [&] {
            cell_input<T, Cell> input;
            object = new_reference(function(input.get(cell)));
        });
        if (status == DENIZEN_OK && object == nullptr && !PyErr_Occurred()) {
            (void)denizen_fail(error_out, DENIZEN_ERROR_RUNTIME,
                               "to_python returned NULL without an exception");
        }
        return status == DENIZEN_OK ? object : nullptr;
    }

    template <class F>
    static denizen_status from_python(void *context, std::uint8_t *cell, PyObject *object,
                                      denizen_error *error_out) noexcept
    {
        F &function = *static_cast<F *>(static_cast<hooks *>(context)->from_python);
        return guarded(error_out, [&] {
            put_ready([&]() -> decltype(auto) { return function(object); }, cell);
        });
    }

private:
    template <class F>
    static denizen_status save_with(F &function, const std::uint8_t *cell, denizen_sink *sink,
                                    denizen_error *error_out) noexcept
    {
        return guarded(error_out, [&] {
            cell_input<T, Cell> input;
            const auto bytes = function(input.get(cell));
            using result = remove_cvref<decltype(bytes)>;
            if constexpr (std::is_convertible_v<result, std::string_view>) {
                const std::string_view view(bytes);
                write_sink(sink, view.data(), view.size());
            } else {
                static_assert(sizeof(*bytes.data()) == 1,
                              "denizen: text and bytes are returned as std::string, or as a "
                              "container of bytes with data() and size()");
                write_sink(sink, bytes.data(), bytes.size());
            }
        });
    }

    template <class F>
    static denizen_status load_with(F &function, std::uint8_t *cell, const std::uint8_t *bytes,
                                    std::size_t size, denizen_error *error_out) noexcept
    {
        return guarded(error_out, [&] {
            put_ready([&]() -> decltype(auto) { return call_load(function, bytes, size); }, cell);
        });
    }

    /* The cell is as it was where the author's function throws. */
    template <class Make>
    static void put_ready(Make &&make, std::uint8_t *cell)
    {
        using result = remove_cvref<decltype(make())>;
        if constexpr (std::is_same_v<result, T>) {
            put<T, Cell>(cell, make);
        } else {
            put<T, Cell>(cell, [&]() -> T { return static_cast<T>(make()); });
        }
    }
};

} // namespace detail
} // namespace denizen

#endif
