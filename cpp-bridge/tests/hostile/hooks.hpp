/*
 * The places where a type's own code runs, and what Python put there: the twin of
 * tests/clients/hostile/src/hooks.rs.
 */
#ifndef DENIZEN_TESTS_HOSTILE_HOOKS_HPP
#define DENIZEN_TESTS_HOSTILE_HOOKS_HPP

#include <denizen/denizen.hpp>

#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

enum class hook {
    copy, move, drop, make, assign, compare, equal, hash, text, parse, to_float, from_float, to_int,
    from_int, from_python, add, subtract, multiply, negative, in_place, predicate, with_number,
    nonzero, heap_bytes, save, load, identity, cast, count
};
constexpr std::size_t hook_count = static_cast<std::size_t>(hook::count);
inline const std::array<const char *, hook_count> hook_names = {
    "clone", "move", "drop", "default", "assign", "compare", "equal", "hash", "display", "parse",
    "to_float", "from_float", "to_int", "from_int", "from_python", "add", "subtract", "multiply",
    "negative", "in_place", "predicate", "with_number", "nonzero", "heap_bytes", "save", "load",
    "identity", "cast"};

inline const char *name_of(hook which) { return hook_names[static_cast<std::size_t>(which)]; }

/* A hook; `callable`, `after` and `times` are used with the GIL held only. */
struct place {
    std::atomic<bool> is_armed{false};
    PyObject *callable = nullptr;
    long long after = 0, times = 0;
    std::atomic<long long> calls{0}, fired{0};
};
inline std::array<place, hook_count> places;
inline std::atomic<int> deepest{1};
inline thread_local int depth = 0;

inline std::mutex violations_lock;
inline std::vector<std::string> violations;

/* Notes that the promise was broken. */
inline void violation(std::string message)
{
    const std::lock_guard<std::mutex> guard(violations_lock);
    if (violations.size() < 50) {
        violations.push_back(std::move(message));
    }
}

struct with_gil {
    PyGILState_STATE state = PyGILState_Ensure();
    with_gil() = default;
    with_gil(const with_gil &) = delete;
    with_gil &operator=(const with_gil &) = delete;
    ~with_gil() { PyGILState_Release(state); }
};

/* What the Python function raised or returned as a text; empty otherwise. */
inline std::string call(place &at)
{
    const with_gil held;
    if (at.callable == nullptr) {
        return {};
    }
    if (at.after > 0) {
        at.after--;
        return {};
    }
    if (at.times == 0) {
        at.is_armed = false;
        return {};
    }
    at.times--;
    at.fired++;
    PyObject *callable = at.callable;
    Py_INCREF(callable);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    depth++;
    PyObject *answer = PyObject_CallNoArgs(callable);
    depth--;
    std::string failure;
    if (answer == nullptr) {
        failure = "the Python function raised";
        PyErr_Clear();
    } else if (PyUnicode_Check(answer)) {
        const char *said = PyUnicode_AsUTF8(answer);
        failure = said == nullptr ? "a text" : said;
        PyErr_Clear();
    }
    Py_XDECREF(answer);
    Py_DECREF(callable);
    PyErr_Restore(type, value, traceback);
    return failure;
}

/* Comes through a hook; what went wrong there. */
inline std::string come_by(hook which)
{
    place &at = places[static_cast<std::size_t>(which)];
    at.calls++;
    if (!at.is_armed || depth >= deepest) {
        return {};
    }
    return call(at);
}

#endif
