/*
 * Element types of C++ that call back into Python from wherever they are called: the twin of
 * tests/clients/hostile, with the same functions for Python. Beside what safe Rust can have there are
 * inline types, adopted memory, views that are kept, and casts and loops from one type to another.
 */
#include "text.hpp"

#include <cstring>
#include <functional>
#include <map>

namespace {

using denizen::casting;
using denizen::storage;
using denizen::detail::reference;

using held_inline = text<0, true>;
using held_boxed = text<1, false>;
using free_inline = text<2, true>;
using free_boxed = text<3, false>;
using held_tagged = text<4, true>;

/* What a module function does for one type. */
struct functions {
    std::function<long long()> live;
    PyObject *(*adopt)(const std::vector<long long> &);
    PyObject *(*while_reading)(PyObject *, PyObject *);
    PyObject *(*while_writing)(PyObject *, PyObject *, long long);
    void (*keep)(PyObject *, bool);
};

std::map<std::string, functions> &table()
{
    static auto *kept = new std::map<std::string, functions>;
    return *kept;
}

/* Views that Python keeps. */
std::vector<std::shared_ptr<void>> &kept_views()
{
    static auto *kept = new std::vector<std::shared_ptr<void>>;
    return *kept;
}

long long number_of(PyObject *object)
{
    const reference whole = reference::checked(
        PyUnicode_Check(object) ? PyLong_FromUnicodeObject(object, 10) : PyNumber_Long(object));
    const long long number = PyLong_AsLongLong(whole.get());
    if (number == -1 && PyErr_Occurred() != nullptr) {
        throw denizen::python_error();
    }
    return number;
}

template <class T>
PyObject *adopt(const std::vector<long long> &numbers)
{
    std::vector<T> elements;
    elements.reserve(numbers.size());
    for (const long long number : numbers) {
        elements.emplace_back(number);
    }
    return denizen::adopt(std::move(elements));
}

template <class View>
std::vector<long long> values_in(const View &view)
{
    std::vector<long long> values;
    for (const auto &element : view) {
        if (const std::string what = element.fault(); !what.empty()) {
            violation("a view shows an object that is " + what);
        }
        values.push_back(element.get());
    }
    return values;
}

template <class T>
PyObject *while_reading(PyObject *array, PyObject *callable)
{
    const denizen::view<const T> view(array);
    const std::vector<long long> before = values_in(view);
    reference result = reference::checked(PyObject_CallNoArgs(callable));
    if (values_in(view) != before) {
        violation("the elements of a view changed");
    }
    return result.release();
}

template <class T>
PyObject *while_writing(PyObject *array, PyObject *callable, long long value)
{
    const denizen::view<T> view(array);
    const std::vector<long long> before = values_in(view);
    reference result = reference::checked(PyObject_CallNoArgs(callable));
    if (values_in(view) != before) {
        violation("the elements of a view to write changed");
    }
    for (T &element : view) {
        element.set(value);
    }
    const reference again = reference::checked(PyObject_CallNoArgs(callable));
    for (const long long found : values_in(view)) {
        if (found != value) {
            violation("what was written through a view is not there any more");
        }
    }
    return result.release();
}

template <class T>
void keep(PyObject *array, bool writes)
{
    if (writes) {
        kept_views().push_back(std::make_shared<denizen::view<T>>(array));
    } else {
        kept_views().push_back(std::make_shared<denizen::view<const T>>(array));
    }
}

template <class T, storage Storage>
void describe(denizen::element<T, Storage> &element)
{
    element.arithmetic()
        .ordering()
        .linear_algebra()
        .template cast_from<long>(casting::safe,
                                  [](long number) {
                                      T::throwing(hook::from_int, {});
                                      return T(number);
                                  })
        .template cast_to<long>(casting::unsafe,
                                [](const T &x) -> long {
                                    T::throwing(hook::to_int, {&x});
                                    return static_cast<long>(x.get());
                                })
        .template cast_from<double>(casting::same_kind,
                                    [](double number) {
                                        T::throwing(hook::from_float, {});
                                        if (!(std::fabs(number) < 9e18)) {
                                            throw std::range_error("no whole number");
                                        }
                                        return T(static_cast<long long>(number));
                                    })
        .template cast_to<double>(casting::unsafe,
                                  [](const T &x) -> double {
                                      T::throwing(hook::to_float, {&x});
                                      return static_cast<double>(x.get());
                                  })
        .text(
            [](const T &x) {
                T::throwing(hook::text, {&x});
                return std::to_string(x.get());
            },
            [](std::string_view given) {
                const std::string before(given);
                T::throwing(hook::parse, {});
                if (given != before) {
                    violation("under parse its text changed");
                }
                return T(std::stoll(before));
            })
        .hash([](const T &x) {
            T::throwing(hook::hash, {&x});
            return std::hash<long long>{}(x.get());
        })
        .nonzero([](const T &x) {
            T::throwing(hook::nonzero, {&x});
            return x.get() != 0;
        })
        .heap_bytes([](const T &x) -> std::size_t {
            T::throwing(hook::heap_bytes, {&x});
            return 64;
        })
        .codec(
            [](const T &x) {
                T::throwing(hook::save, {&x});
                return std::to_string(x.get());
            },
            [](std::string_view bytes) {
                const std::string before(bytes);
                T::throwing(hook::load, {});
                if (bytes != before) {
                    violation("under load its bytes changed");
                }
                return T(std::stoll(before));
            })
        .from_python([](PyObject *object) {
            T::throwing(hook::from_python, {});
            return T(number_of(object));
        })
        .zero([] { return T(0); })
        .one([] {
            T::throwing(hook::identity, {});
            return T(1);
        })
        .loop("square",
              [](T &out, const T &x) {
                  T::throwing(hook::in_place, {&out, &x});
                  out.set(x.get() % 1000000);
              })
        .loop("absolute",
              [](const T &x) {
                  T::throwing(hook::negative, {&x});
                  return T(x.get() < 0 ? -(x.get() + 1) : x.get());
              })
        .loop("isfinite",
              [](const T &x) {
                  T::throwing(hook::predicate, {&x});
                  return true;
              })
        .loop("left_shift", [](const T &x, long by) {
            T::throwing(hook::with_number, {&x});
            return T(x.get() % 1000 + by);
        });
}

/* A cast from a type that is registered already, and sums of the two. */
template <class T, class U, storage Storage>
void mix(denizen::element<T, Storage> &element)
{
    element.template cast_from<U>(casting::same_kind, [](const U &x) {
        U::throwing(hook::cast, {&x});
        return T(x.get());
    });
    element.template cast_to<U>(casting::unsafe, [](const T &x) {
        T::throwing(hook::cast, {&x});
        return U(x.get());
    });
    element.loop("bitwise_or", [](const T &x, const U &y) {
        T::throwing(hook::add, {&x});
        U::throwing(hook::add, {&y});
        return T(x.get() % 1000 + y.get() % 1000);
    });
}

template <class T, storage Storage>
void add(PyObject *module, denizen::element<T, Storage> &element, const char *name)
{
    element.add_to(module);
    functions &entry = table()[name];
    entry = {[] { return T::constructed - T::destroyed; }, nullptr, &while_reading<T>,
             &while_writing<T>, &keep<T>};
    if constexpr (Storage == storage::inline_cells) {
        entry.adopt = &adopt<T>;
    }
}

void add_types(PyObject *module)
{
    denizen::element<held_inline> a("Inline");
    describe(a);
    add(module, a, "Inline");
    denizen::element<held_boxed, storage::boxed> b("Boxed");
    describe(b);
    add(module, b, "Boxed");
    denizen::element<free_inline> c("FreeInline");
    describe(c);
    mix<free_inline, held_inline>(c);
    mix<free_inline, held_boxed>(c);
    c.thread_safe();
    add(module, c, "FreeInline");
    denizen::element<free_boxed, storage::boxed> d("FreeBoxed");
    describe(d);
    mix<free_boxed, held_boxed>(d);
    mix<free_boxed, free_inline>(d);
    d.thread_safe();
    add(module, d, "FreeBoxed");
    denizen::element<held_tagged, storage::tagged> e("Tagged");
    describe(e);
    mix<held_tagged, free_inline>(e);
    mix<held_tagged, free_boxed>(e);
    add(module, e, "Tagged");
}

/* The functions for the elements of an array. */
const functions &of(PyObject *array)
{
    const reference dtype = reference::checked(PyObject_GetAttrString(array, "dtype"));
    const reference said = reference::checked(PyObject_Str(dtype.get()));
    const char *name = PyUnicode_AsUTF8(said.get());
    if (name == nullptr) {
        throw denizen::python_error();
    }
    const char *dot = std::strrchr(name, '.');
    const auto found = table().find(dot == nullptr ? name : dot + 1);
    if (found == table().end()) {
        throw denizen::error(denizen::error_kind::type, std::string(name) + " is none of these");
    }
    return found->second;
}

place &place_of(const char *name)
{
    for (std::size_t index = 0; index < hook_count; index++) {
        if (std::strcmp(name, hook_names[index]) == 0) {
            return places[index];
        }
    }
    throw std::out_of_range(std::string("no hook ") + name);
}

void disarm(place &at)
{
    at.is_armed = false;
    PyObject *old = std::exchange(at.callable, nullptr);
    Py_XDECREF(old);
}

reference list_of(const std::vector<std::string> &texts)
{
    reference list = reference::checked(PyList_New(0));
    for (const std::string &item : texts) {
        const reference object = reference::checked(PyUnicode_DecodeUTF8(
            item.data(), static_cast<Py_ssize_t>(item.size()), "backslashreplace"));
        if (PyList_Append(list.get(), object.get()) != 0) {
            throw denizen::python_error();
        }
    }
    return list;
}

} // namespace

extern "C" {

static PyObject *py_hooks(PyObject *, PyObject *)
{
    return denizen::guard([]() -> PyObject * {
        return list_of({hook_names.begin(), hook_names.end()}).release();
    });
}

static PyObject *py_on(PyObject *, PyObject *arguments, PyObject *keywords)
{
    return denizen::guard([&]() -> PyObject * {
        static const char *names[] = {"hook", "callable", "after", "times", nullptr};
        const char *name;
        PyObject *callable;
        long long after = 0, times = 1;
        if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "sO|LL", const_cast<char **>(names),
                                         &name, &callable, &after, &times)) {
            throw denizen::python_error();
        }
        place &at = place_of(name);
        disarm(at);
        if (callable != Py_None) {
            Py_INCREF(callable);
            at.callable = callable;
            at.after = after;
            at.times = times;
            at.is_armed = true;
        }
        Py_RETURN_NONE;
    });
}

static PyObject *py_off(PyObject *, PyObject *)
{
    return denizen::guard([]() -> PyObject * {
        for (place &at : places) {
            disarm(at);
        }
        Py_RETURN_NONE;
    });
}

static PyObject *py_set_depth(PyObject *, PyObject *depth_object)
{
    return denizen::guard([&]() -> PyObject * {
        deepest = static_cast<int>(number_of(depth_object));
        Py_RETURN_NONE;
    });
}

static PyObject *py_calls(PyObject *, PyObject *)
{
    return denizen::guard([]() -> PyObject * {
        reference list = reference::checked(PyList_New(0));
        for (std::size_t index = 0; index < hook_count; index++) {
            const reference item = reference::checked(
                Py_BuildValue("(sLL)", hook_names[index], places[index].calls.exchange(0),
                              places[index].fired.exchange(0)));
            if (PyList_Append(list.get(), item.get()) != 0) {
                throw denizen::python_error();
            }
        }
        return list.release();
    });
}

static PyObject *py_violations(PyObject *, PyObject *)
{
    return denizen::guard([]() -> PyObject * {
        std::vector<std::string> all;
        {
            const std::lock_guard<std::mutex> guard(violations_lock);
            all.swap(violations);
        }
        return list_of(all).release();
    });
}

static PyObject *py_types(PyObject *, PyObject *)
{
    return denizen::guard([]() -> PyObject * {
        std::vector<std::string> names;
        for (const auto &[name, entry] : table()) {
            names.push_back(name);
        }
        return list_of(names).release();
    });
}

static PyObject *py_live(PyObject *, PyObject *)
{
    return denizen::guard([]() -> PyObject * {
        reference list = reference::checked(PyList_New(0));
        for (const auto &[name, entry] : table()) {
            const reference item =
                reference::checked(Py_BuildValue("(sL)", name.c_str(), entry.live()));
            if (PyList_Append(list.get(), item.get()) != 0) {
                throw denizen::python_error();
            }
        }
        return list.release();
    });
}

static PyObject *py_while_reading(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        PyObject *array, *callable;
        if (!PyArg_ParseTuple(arguments, "OO", &array, &callable)) {
            throw denizen::python_error();
        }
        return of(array).while_reading(array, callable);
    });
}

static PyObject *py_while_writing(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        PyObject *array, *callable;
        long long value;
        if (!PyArg_ParseTuple(arguments, "OOL", &array, &callable, &value)) {
            throw denizen::python_error();
        }
        return of(array).while_writing(array, callable, value);
    });
}

/* keep_view(array, writes): lends the array until release_views(). */
static PyObject *py_keep_view(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        PyObject *array;
        int writes;
        if (!PyArg_ParseTuple(arguments, "Op", &array, &writes)) {
            throw denizen::python_error();
        }
        of(array).keep(array, writes != 0);
        Py_RETURN_NONE;
    });
}

static PyObject *py_release_views(PyObject *, PyObject *)
{
    return denizen::guard([]() -> PyObject * {
        std::vector<std::shared_ptr<void>> all;
        all.swap(kept_views());
        all.clear();
        Py_RETURN_NONE;
    });
}

/* adopt(name, numbers): an array over memory of this module. */
static PyObject *py_adopt(PyObject *, PyObject *arguments)
{
    return denizen::guard([&]() -> PyObject * {
        const char *name;
        PyObject *numbers;
        if (!PyArg_ParseTuple(arguments, "sO", &name, &numbers)) {
            throw denizen::python_error();
        }
        const auto found = table().find(name);
        if (found == table().end() || found->second.adopt == nullptr) {
            throw denizen::error(denizen::error_kind::type, "no such type is stored inline");
        }
        const reference list = reference::checked(PySequence_List(numbers));
        std::vector<long long> values;
        for (Py_ssize_t index = 0; index < PyList_GET_SIZE(list.get()); index++) {
            values.push_back(number_of(PyList_GET_ITEM(list.get(), index)));
        }
        return found->second.adopt(values);
    });
}

static PyMethodDef methods[] = {
    {"hooks", py_hooks, METH_NOARGS, nullptr},
    {"on", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_on)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"off", py_off, METH_NOARGS, nullptr},
    {"set_depth", py_set_depth, METH_O, nullptr},
    {"calls", py_calls, METH_NOARGS, nullptr},
    {"violations", py_violations, METH_NOARGS, nullptr},
    {"types", py_types, METH_NOARGS, nullptr},
    {"live", py_live, METH_NOARGS, nullptr},
    {"while_reading", py_while_reading, METH_VARARGS, nullptr},
    {"while_writing", py_while_writing, METH_VARARGS, nullptr},
    {"keep_view", py_keep_view, METH_VARARGS, nullptr},
    {"release_views", py_release_views, METH_NOARGS, nullptr},
    {"adopt", py_adopt, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "cpp_hostile", nullptr, -1, methods, nullptr, nullptr, nullptr,
    nullptr,
};

PyMODINIT_FUNC PyInit_cpp_hostile(void)
{
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
