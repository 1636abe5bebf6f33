/*
 * An extension module on the bare C API of Python: the types of subject.hpp in every storage, and
 * the functions of the C++ header on arrays of them. The tests beside it use them.
 */
#include "subject.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace {

using denizen::casting;
using denizen::storage;
using denizen::detail::reference;

/* Tells types apart that are the same but for their storage. */
template <int Which, bool Free>
struct thrower : plain_traits {
    static constexpr bool free = Free;
};
struct no_default : plain_traits {
    static constexpr bool has_default = false;
};
struct self_pointing : plain_traits {
    static constexpr bool points_to_itself = true;
};
template <std::size_t Align>
struct aligned : plain_traits {
    static constexpr std::size_t align = Align;
};
template <int Which>
struct bad_destructor : plain_traits {
    static constexpr bool safe_end = false;
};

long long number_of(PyObject *object)
{
    const long long number = PyLong_AsLongLong(object);
    if (number == -1 && PyErr_Occurred() != nullptr) {
        throw denizen::python_error();
    }
    return number;
}

/* What a module function does for one type. */
struct functions {
    lives *counts;
    PyObject *(*take)(const std::vector<long long> &);
    PyObject *(*adopt)(const std::vector<long long> &);
    PyObject *(*read)(PyObject *);
    PyObject *(*raise)(PyObject *, long long);
    PyObject *(*span)(PyObject *, long long);
    PyObject *(*read_free)(PyObject *);
    PyObject *(*raise_free)(PyObject *, long long);
};

std::map<std::string, functions> &table()
{
    static auto *kept = new std::map<std::string, functions>;
    return *kept;
}

template <class T>
std::vector<T> vector_of(const std::vector<long long> &numbers)
{
    std::vector<T> elements;
    elements.reserve(numbers.size());
    for (const long long number : numbers) {
        elements.emplace_back(number);
    }
    return elements;
}

template <class T>
PyObject *take(const std::vector<long long> &numbers)
{
    return denizen::take(vector_of<T>(numbers));
}

template <class T>
PyObject *adopt(const std::vector<long long> &numbers)
{
    return denizen::adopt(vector_of<T>(numbers));
}

/* The values of an array through a view. */
template <class T>
PyObject *read(PyObject *array)
{
    const denizen::view<const T> view(array);
    reference list = reference::checked(PyList_New(0));
    for (const T &element : view) {
        const reference item = reference::checked(PyLong_FromLongLong(element.get()));
        if (PyList_Append(list.get(), item.get()) != 0) {
            throw denizen::python_error();
        }
    }
    return list.release();
}

/* Adds a number to every element of an array through a view, which fills vacant cells. */
template <class T>
PyObject *raise(PyObject *array, long long by)
{
    const denizen::view<T> view(array);
    for (T &element : view) {
        element.set(element.get() + by);
    }
    Py_RETURN_NONE;
}

/* The same through a span. */
template <class T>
PyObject *span(PyObject *array, long long by)
{
    const denizen::view<T> view(array);
    for (T &element : view.span()) {
        element.set(element.get() + by);
    }
    Py_RETURN_NONE;
}

/* The sum of an array, read without the GIL through a view. */
template <class T>
PyObject *read_free(PyObject *array)
{
    const denizen::view<const T> view(array);
    unsigned long long sum = 0;
    {
        const denizen::without_gil free;
        for (const T &element : view) {
            sum += static_cast<unsigned long long>(element.get());
        }
    }
    return PyLong_FromLongLong(static_cast<long long>(sum));
}

/* Adds a number to every element without the GIL through a view. Only the numbers may wrap. */
template <class T>
PyObject *raise_free(PyObject *array, long long by)
{
    const denizen::view<T> view(array);
    {
        const denizen::without_gil free;
        for (T &element : view) {
            element.set(static_cast<long long>(static_cast<unsigned long long>(element.get()) +
                                               static_cast<unsigned long long>(by)));
        }
    }
    Py_RETURN_NONE;
}

/* From integers, and from what a Python function returns. */
template <class T>
T made_from(PyObject *object)
{
    burn(spot::from_python);
    if (PyCallable_Check(object)) {
        const reference result = reference::checked(PyObject_CallNoArgs(object));
        return T(number_of(result.get()));
    }
    if (PyUnicode_Check(object)) {
        burn(spot::parse);
        const reference number = reference::checked(PyLong_FromUnicodeObject(object, 10));
        return T(number_of(number.get()));
    }
    if (!PyLong_Check(object)) {
        throw denizen::error(denizen::error_kind::type, "neither a number nor a function");
    }
    return T(number_of(object));
}

template <class T, storage Storage = denizen::detail::default_storage<T>>
void add_subject(PyObject *module, const char *name, bool thread_safe = false)
{
    constexpr bool makes_default = std::is_default_constructible_v<T>;
    denizen::element<T, Storage> element(name);
    element.arithmetic()
        .ordering()
        .linear_algebra()
        .template cast_from<long>(casting::safe,
                                  [](long number) {
                                      burn(spot::cast);
                                      return T(number);
                                  })
        .template cast_to<long>(casting::same_kind,
                                [](const T &x) -> long {
                                    burn(spot::cast);
                                    return static_cast<long>(x.get());
                                })
        .text(
            [](const T &x) {
                burn(spot::text);
                return std::to_string(x.get());
            },
            [](std::string_view text) {
                burn(spot::parse);
                return T(std::stoll(std::string(text)));
            })
        .hash([](const T &x) {
            burn(spot::hash);
            return std::hash<long long>{}(x.get());
        })
        .nonzero([](const T &x) {
            burn(spot::truth);
            return x.get() != 0;
        })
        .heap_bytes([](const T &) -> std::size_t {
            burn(spot::heap);
            return 16;
        })
        .codec(
            [](const T &x) {
                burn(spot::save);
                return std::to_string(x.get());
            },
            [](std::string_view text) {
                burn(spot::load);
                return T(std::stoll(std::string(text)));
            })
        .from_python([](PyObject *object) { return made_from<T>(object); });
    if constexpr (makes_default) {
        element.zero([] { return T(0); }).one([] { return T(1); });
    } else {
        element.probe_with([] { return T(7); });
    }
    if (thread_safe) {
        element.thread_safe();
    }
    element.add_to(module);
    functions &entry = table()[name];
    entry = {&T::counts, &take<T>, nullptr, &read<T>, &raise<T>, nullptr, nullptr, nullptr};
    if (thread_safe) {
        entry.read_free = &read_free<T>;
        entry.raise_free = &raise_free<T>;
    }
    if constexpr (Storage == storage::inline_cells && std::is_nothrow_destructible_v<T>) {
        entry.adopt = &adopt<T>;
        entry.span = &span<T>;
    }
}

void add_types(PyObject *module)
{
    add_subject<subject<thrower<0, false>>>(module, "Inline");
    add_subject<subject<thrower<1, false>>, storage::tagged>(module, "Tagged");
    add_subject<subject<thrower<2, false>>, storage::boxed>(module, "Boxed");
    add_subject<subject<thrower<0, true>>>(module, "FreeInline", true);
    add_subject<subject<thrower<1, true>>, storage::tagged>(module, "FreeTagged", true);
    add_subject<subject<thrower<2, true>>, storage::boxed>(module, "FreeBoxed", true);
    add_subject<subject<no_default>>(module, "NoDefault");
    add_subject<subject<self_pointing>>(module, "SelfPointing");
    add_subject<subject<aligned<16>>>(module, "Aligned16");
    add_subject<subject<aligned<32>>>(module, "Aligned32");
    add_subject<subject<aligned<64>>>(module, "Aligned64");
    add_subject<subject<aligned<128>>>(module, "Aligned128");
    add_subject<subject<bad_destructor<0>>>(module, "BadEnd");
    add_subject<subject<bad_destructor<1>>, storage::boxed>(module, "BadEndBoxed");

    static_assert(sizeof(nothing) == 1);
    denizen::element<nothing>("Nothing")
        .arithmetic()
        .ordering()
        .text([](const nothing &) { return "nothing"; },
              [](std::string_view) { return nothing(); })
        .add_to(module);
    table()["Nothing"] = {&nothing::counts, nullptr, nullptr, nullptr, nullptr, nullptr,
                          nullptr, nullptr};
}

const functions &of(const char *name)
{
    const auto found = table().find(name);
    if (found == table().end()) {
        throw std::out_of_range(std::string("no such type: ") + name);
    }
    return found->second;
}

std::vector<long long> numbers_of(PyObject *sequence)
{
    const reference list = reference::checked(PySequence_List(sequence));
    std::vector<long long> numbers;
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(list.get()); index++) {
        numbers.push_back(number_of(PyList_GET_ITEM(list.get(), index)));
    }
    return numbers;
}

template <class F>
F present(F function)
{
    if (function == nullptr) {
        throw denizen::error(denizen::error_kind::type, "not for this type");
    }
    return function;
}

} // namespace

extern "C" {

/* set_fuse(spot, calls, int): what is left of the fuse before. */
static PyObject *py_set_fuse(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        const char *name;
        long long calls;
        int as_int = 0;
        if (!PyArg_ParseTuple(arguments, "sL|p", &name, &calls, &as_int)) {
            throw denizen::python_error();
        }
        for (std::size_t index = 0; index < spots; index++) {
            if (std::strcmp(name, spot_names[index]) == 0) {
                throws_int = as_int != 0;
                return PyLong_FromLongLong(fuses[index].exchange(calls));
            }
        }
        throw std::out_of_range(std::string("no such spot: ") + name);
    });
}

/* misbehave(how): what `<` answers from now on. */
static PyObject *py_misbehave(PyObject *, PyObject *how)
{
    return denizen::guard([&]() -> PyObject * {
        const char *text = PyUnicode_AsUTF8(how);
        if (text == nullptr) {
            throw denizen::python_error();
        }
        for (std::size_t index = 0; index < ways; index++) {
            if (std::strcmp(text, ways_to_answer[index]) == 0) {
                less_answers = static_cast<answers>(index);
                Py_RETURN_NONE;
            }
        }
        throw std::out_of_range(std::string("no such way: ") + text);
    });
}

/* counters(type): constructed, copied, moved, assigned, destroyed, misused, live. */
static PyObject *py_counters(PyObject *, PyObject *name)
{
    return denizen::guard([&]() -> PyObject * {
        const char *text = PyUnicode_AsUTF8(name);
        if (text == nullptr) {
            throw denizen::python_error();
        }
        const lives &counts = *of(text).counts;
        return Py_BuildValue("{sLsLsLsLsLsLsL}", "constructed", counts.constructed.load(), "copied",
                             counts.copied.load(), "moved", counts.moved.load(), "assigned",
                             counts.assigned.load(), "destroyed", counts.destroyed.load(), "misused",
                             counts.misused.load(), "live", counts.live());
    });
}

static PyObject *py_take(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        const char *name;
        PyObject *numbers;
        if (!PyArg_ParseTuple(arguments, "sO", &name, &numbers)) {
            throw denizen::python_error();
        }
        return present(of(name).take)(numbers_of(numbers));
    });
}

static PyObject *py_adopt(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        const char *name;
        PyObject *numbers;
        if (!PyArg_ParseTuple(arguments, "sO", &name, &numbers)) {
            throw denizen::python_error();
        }
        return present(of(name).adopt)(numbers_of(numbers));
    });
}

static PyObject *py_read(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        const char *name;
        PyObject *array;
        if (!PyArg_ParseTuple(arguments, "sO", &name, &array)) {
            throw denizen::python_error();
        }
        return present(of(name).read)(array);
    });
}

static PyObject *py_raise(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        const char *name;
        PyObject *array;
        long long by;
        if (!PyArg_ParseTuple(arguments, "sOL", &name, &array, &by)) {
            throw denizen::python_error();
        }
        return present(of(name).raise)(array, by);
    });
}

static PyObject *py_read_free(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        const char *name;
        PyObject *array;
        if (!PyArg_ParseTuple(arguments, "sO", &name, &array)) {
            throw denizen::python_error();
        }
        return present(of(name).read_free)(array);
    });
}

static PyObject *py_raise_free(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        const char *name;
        PyObject *array;
        long long by;
        if (!PyArg_ParseTuple(arguments, "sOL", &name, &array, &by)) {
            throw denizen::python_error();
        }
        return present(of(name).raise_free)(array, by);
    });
}

static PyObject *py_span(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        const char *name;
        PyObject *array;
        long long by;
        if (!PyArg_ParseTuple(arguments, "sOL", &name, &array, &by)) {
            throw denizen::python_error();
        }
        return present(of(name).span)(array, by);
    });
}

static PyMethodDef methods[] = {
    {"set_fuse", py_set_fuse, METH_VARARGS, nullptr},
    {"misbehave", py_misbehave, METH_O, nullptr},
    {"counters", py_counters, METH_O, nullptr},
    {"take", py_take, METH_VARARGS, nullptr},
    {"adopt", py_adopt, METH_VARARGS, nullptr},
    {"read", py_read, METH_VARARGS, nullptr},
    {"raise_by", py_raise, METH_VARARGS, nullptr},
    {"raise_span", py_span, METH_VARARGS, nullptr},
    {"read_free", py_read_free, METH_VARARGS, nullptr},
    {"raise_free", py_raise_free, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "cpp_types", nullptr, -1, methods, nullptr, nullptr, nullptr,
    nullptr,
};

PyMODINIT_FUNC PyInit_cpp_types(void)
{
    for (std::atomic<long long> &fuse : fuses) {
        fuse = -1;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module == nullptr) {
        return nullptr;
    }
    if (denizen::guard([&] { add_types(module); }) != 0) {
        Py_DECREF(module);
        return nullptr;
    }
    return module;
}

} /* extern "C" */
