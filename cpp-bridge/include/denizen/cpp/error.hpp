/*
 * Errors: C++ exceptions become Python exceptions, and Python exceptions pass through C++.
 *
 * No exception leaves a function that the runtime calls. What a catch frame learns is written as
 * plain text into a denizen_error; Python is touched only after the frame is left.
 *
 *     std::bad_alloc                                        MemoryError
 *     std::out_of_range                                     IndexError
 *     std::invalid_argument, domain_error, length_error,
 *     std::range_error                                      ValueError
 *     std::overflow_error                                   OverflowError
 *     denizen::error                                        the exception of its kind
 *     denizen::python_error                                 the exception that it carries
 *     any other std::exception                              RuntimeError
 *     anything else                                         RuntimeError: unknown C++ exception
 */
#ifndef DENIZEN_CPP_ERROR_HPP
#define DENIZEN_CPP_ERROR_HPP

#include <denizen/denizen.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace denizen __attribute__((visibility("hidden"))) {

/** Which Python exception an error becomes. */
enum class error_kind : std::uint32_t {
    runtime = DENIZEN_ERROR_RUNTIME,
    value = DENIZEN_ERROR_VALUE,
    type = DENIZEN_ERROR_TYPE,
    overflow = DENIZEN_ERROR_OVERFLOW,
    zero_division = DENIZEN_ERROR_ZERO_DIVISION,
    memory = DENIZEN_ERROR_MEMORY,
    /** `denizen.VacantError` */
    vacant = DENIZEN_ERROR_VACANT,
    /** `denizen.BorrowError` */
    borrow = DENIZEN_ERROR_BORROW,
    index = DENIZEN_ERROR_INDEX,
    not_implemented = DENIZEN_ERROR_NOT_IMPLEMENTED
};

/** An error that becomes the Python exception of its kind. May be thrown without the GIL. */
class error : public std::runtime_error {
public:
    error(error_kind kind, const std::string &text) : std::runtime_error(text), kind_(kind) {}
    error_kind kind() const noexcept { return kind_; }

private:
    error_kind kind_;
};

namespace detail {

/* Whether this thread holds the GIL. Nobody does in a program without Python, where the function
 * is missing (testing.hpp declares it weak): the compiler is not to know that it never is. */
inline bool holds_gil() noexcept
{
    int (*volatile check)() = &PyGILState_Check;
    int (*const found)() = check;
    return found != nullptr && found() != 0;
}

/* The three references of a Python exception; on Python 3.12 and newer only the value is used. */
struct raised_state {
    PyObject *type = nullptr;
    PyObject *value = nullptr;
    PyObject *traceback = nullptr;

    bool empty() const noexcept { return type == nullptr && value == nullptr; }

    /* Takes the current exception. GIL held. */
    static raised_state fetch() noexcept
    {
        raised_state state;
#if PY_VERSION_HEX >= 0x030c0000
        state.value = PyErr_GetRaisedException();
#else
        PyErr_Fetch(&state.type, &state.value, &state.traceback);
        if (state.type != nullptr) {
            PyErr_NormalizeException(&state.type, &state.value, &state.traceback);
            if (state.traceback != nullptr && state.value != nullptr) {
                (void)PyException_SetTraceback(state.value, state.traceback);
            }
        }
#endif
        return state;
    }

    /* Sets the exception again, with references of its own. GIL held. */
    void restore() const noexcept
    {
#if PY_VERSION_HEX >= 0x030c0000
        Py_XINCREF(value);
        PyErr_SetRaisedException(value);
#else
        Py_XINCREF(type);
        Py_XINCREF(value);
        Py_XINCREF(traceback);
        PyErr_Restore(type, value, traceback);
#endif
    }

    /* Gives the references back. GIL held. */
    void release() noexcept
    {
        Py_CLEAR(type);
        Py_CLEAR(value);
        Py_CLEAR(traceback);
    }

    /* `TypeError: text`, or the name alone. GIL held; leaves no exception. */
    std::string text() const
    {
        if (value == nullptr) {
            return "no Python exception is set";
        }
        std::string text = Py_TYPE(value)->tp_name;
        if (PyObject *object = PyObject_Str(value)) {
            if (const char *message = PyUnicode_AsUTF8(object)) {
                if (*message != '\0') {
                    text += std::string(": ") + message;
                }
            }
            Py_DECREF(object);
        }
        PyErr_Clear();
        return text;
    }
};

/* Keeps an exception for as long as a copy of its C++ form exists. */
class raised_owner {
public:
    explicit raised_owner(raised_state state) noexcept : state_(state) {}
    raised_owner(const raised_owner &) = delete;
    raised_owner &operator=(const raised_owner &) = delete;
    ~raised_owner()
    {
        /* Without the GIL (a copy that outlived its function) the references are lost rather than
         * taking the GIL in an unknown place. */
        if (holds_gil()) {
            state_.release();
        }
    }
    const raised_state &state() const noexcept { return state_; }

private:
    raised_state state_;
};

} // namespace detail

/**
 * A Python exception in flight. The exception is taken out of the interpreter, so that nothing
 * that runs while the stack unwinds can disturb it. Made and destroyed with the GIL held.
 */
class python_error : public std::exception {
public:
    /** Takes the exception that is set. */
    python_error()
    {
        detail::raised_state state = detail::raised_state::fetch();
        text_ = std::make_shared<const std::string>(state.text());
        owner_ = std::make_shared<const detail::raised_owner>(state);
    }

    /** `TypeError: text of the exception` */
    const char *what() const noexcept override { return text_->c_str(); }

    /** Sets the exception again. */
    void restore() const noexcept
    {
        if (owner_->state().empty()) {
            PyErr_SetString(PyExc_SystemError, "a C++ function failed without a Python exception");
        } else {
            owner_->state().restore();
        }
    }

    /** Whether it is an instance of an exception class. */
    bool matches(PyObject *exception_class) const noexcept
    {
        PyObject *value = owner_->state().value;
        return value != nullptr && PyErr_GivenExceptionMatches(value, exception_class) != 0;
    }

    /** The exception, borrowed; it lives as long as this object or a copy of it. */
    PyObject *value() const noexcept { return owner_->state().value; }

private:
    std::shared_ptr<const std::string> text_;
    std::shared_ptr<const detail::raised_owner> owner_;
};

namespace detail {

/**
 * Sets a Python exception for the C++ exception in flight if it knows it (`throw;` inside finds
 * out), else returns false. For exceptions of binding libraries that carry a Python exception;
 * called with the GIL held, throws nothing.
 */
using exception_hook = bool (*)();

inline exception_hook exception_hooks[8] = {};

/** Adds a hook once. GIL held. */
inline void add_exception_hook(exception_hook hook) noexcept
{
    for (exception_hook &slot : exception_hooks) {
        if (slot == nullptr || slot == hook) {
            slot = hook;
            return;
        }
    }
}


/* Fills an `ErrorOut` with what is known about the exception in flight. Call in a catch block. */
inline void describe_exception(denizen_error *error_out) noexcept
{
    const auto say = [error_out](error_kind kind, const char *text) noexcept {
        (void)denizen_fail(error_out, static_cast<denizen_error_kind>(kind),
                           text == nullptr ? "" : text);
    };
    try {
        throw;
    } catch (const error &e) {
        say(e.kind(), e.what());
    } catch (const std::bad_alloc &) {
        say(error_kind::memory, "out of memory");
    } catch (const std::out_of_range &e) {
        say(error_kind::index, e.what());
    } catch (const std::invalid_argument &e) {
        say(error_kind::value, e.what());
    } catch (const std::domain_error &e) {
        say(error_kind::value, e.what());
    } catch (const std::length_error &e) {
        say(error_kind::value, e.what());
    } catch (const std::range_error &e) {
        say(error_kind::value, e.what());
    } catch (const std::overflow_error &e) {
        say(error_kind::overflow, e.what());
    } catch (const std::exception &e) {
        say(error_kind::runtime, e.what());
    } catch (...) {
        say(error_kind::runtime, "unknown C++ exception");
    }
}

/* Asks the hooks about the exception in flight. Call in a catch block with the GIL held. */
inline bool ask_hooks() noexcept
{
    for (exception_hook hook : exception_hooks) {
        if (hook != nullptr && hook()) {
            return true;
        }
    }
    return false;
}

/**
 * Runs `f`. Where it throws, fills the `ErrorOut` and returns DENIZEN_FAILED, or sets the Python
 * exception that was thrown and returns DENIZEN_RAISED if this thread holds the GIL.
 * `error_out.done` is the caller's.
 */
template <class F>
inline denizen_status guarded(denizen_error *error_out, F &&f) noexcept
{
    std::unique_ptr<python_error> raised;
    bool set_by_hook = false;
    try {
        f();
        return DENIZEN_OK;
    } catch (const python_error &e) {
        describe_exception(error_out);
        raised.reset(new (std::nothrow) python_error(e));
    } catch (...) {
        set_by_hook = exception_hooks[0] != nullptr && holds_gil() && ask_hooks();
        if (!set_by_hook) {
            describe_exception(error_out);
        }
    }
    if (set_by_hook) {
        return DENIZEN_RAISED;
    }
    if (raised != nullptr && holds_gil()) {
        raised->restore();
        return DENIZEN_RAISED;
    }
    return DENIZEN_FAILED;
}

/* Sets the Python exception of an `ErrorOut`. GIL held. */
inline void raise_error(const denizen_error &error_out) noexcept
{
    PyObject *exception = PyExc_RuntimeError;
    switch (error_out.kind) {
    case DENIZEN_ERROR_VALUE: exception = PyExc_ValueError; break;
    case DENIZEN_ERROR_TYPE: exception = PyExc_TypeError; break;
    case DENIZEN_ERROR_OVERFLOW: exception = PyExc_OverflowError; break;
    case DENIZEN_ERROR_ZERO_DIVISION: exception = PyExc_ZeroDivisionError; break;
    case DENIZEN_ERROR_MEMORY: exception = PyExc_MemoryError; break;
    case DENIZEN_ERROR_INDEX: exception = PyExc_IndexError; break;
    case DENIZEN_ERROR_NOT_IMPLEMENTED: exception = PyExc_NotImplementedError; break;
    case DENIZEN_ERROR_VACANT:
    case DENIZEN_ERROR_BORROW:
        /* Classes of the installed package. */
        if (const denizen_api *api = denizen_import_sized(DENIZEN_API_SIZE_WITH(raise))) {
            api->raise(&error_out);
            return;
        }
        PyErr_Clear();
        break;
    default: break;
    }
    PyObject *text = PyUnicode_DecodeUTF8(
        error_out.message, static_cast<Py_ssize_t>(std::char_traits<char>::length(error_out.message)),
        "replace");
    if (text != nullptr) {
        PyErr_SetObject(exception, text);
        Py_DECREF(text);
    }
}

/* For the translators of binding libraries: sets the Python exception of one of ours. What is not
 * ours is thrown again, for the library's own translators. GIL held. */
inline void raise_ours(const std::exception_ptr &thrown)
{
    denizen_error error_out;
    error_out.struct_size = sizeof error_out;
    try {
        std::rethrow_exception(thrown);
    } catch (const python_error &error) {
        error.restore();
        return;
    } catch (const error &) {
        describe_exception(&error_out);
    }
    raise_error(error_out);
}

} // namespace detail

/**
 * Runs `f` in a function that Python calls, and turns a C++ exception into a Python one:
 *
 *     static PyObject *total(PyObject *, PyObject *array)
 *     {
 *         return denizen::guard([&]() -> PyObject * { .. });
 *     }
 *
 * Returns what `f` returns; on failure NULL for pointers and -1 for numbers. A function without a
 * result becomes 0 or -1. GIL held.
 */
template <class F>
inline auto guard(F &&f) noexcept
{
    using result = std::invoke_result_t<F &>;
    denizen_error error_out;
    error_out.struct_size = sizeof error_out;
    error_out.kind = DENIZEN_ERROR_RUNTIME;
    error_out.message[0] = '\0';
    if constexpr (std::is_void_v<result>) {
        const denizen_status status = detail::guarded(&error_out, f);
        if (status == DENIZEN_FAILED) {
            detail::raise_error(error_out);
        }
        return status == DENIZEN_OK ? 0 : -1;
    } else {
        static_assert(std::is_pointer_v<result> || std::is_arithmetic_v<result>,
                      "denizen: guard() takes a function that returns a pointer, a number or void");
        result value{};
        const denizen_status status = detail::guarded(&error_out, [&] { value = f(); });
        if (status == DENIZEN_OK) {
            return value;
        }
        if (status == DENIZEN_FAILED) {
            detail::raise_error(error_out);
        }
        if constexpr (std::is_pointer_v<result>) {
            return static_cast<result>(nullptr);
        } else {
            return static_cast<result>(-1);
        }
    }
}

} // namespace denizen

#endif
