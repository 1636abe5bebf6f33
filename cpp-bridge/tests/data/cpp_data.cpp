/* Views, arrays, adoption and single values from the bare Python API; test_cpp_data.py uses it. */
#include "element_of_subjects.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <string>
#include <vector>

#include <denizen/cpp/adopt.hpp>
#include <denizen/cpp/array.hpp>
#include <denizen/cpp/scalar.hpp>
#include <denizen/cpp/take.hpp>
#include <denizen/cpp/view.hpp>

namespace {

using denizen::detail::reference;

std::int64_t owners_ended = 0;
std::vector<std::shared_ptr<std::vector<subjects::inlined>>> shared_vectors;

std::int64_t number_of(PyObject *object)
{
    const std::int64_t number = PyLong_AsLongLong(object);
    if (PyErr_Occurred() != nullptr) {
        throw denizen::python_error();
    }
    return number;
}

std::vector<std::int64_t> numbers_of(PyObject *sequence)
{
    const reference list = reference::checked(PySequence_List(sequence));
    std::vector<std::int64_t> numbers;
    for (Py_ssize_t index = 0; index < PyList_Size(list.get()); index++) {
        numbers.push_back(number_of(PyList_GetItem(list.get(), index)));
    }
    return numbers;
}

PyObject *list_of(const std::vector<std::int64_t> &numbers)
{
    reference list = reference::checked(PyList_New(0));
    for (const std::int64_t number : numbers) {
        const reference item = reference::checked(PyLong_FromLongLong(number));
        if (PyList_Append(list.get(), item.get()) != 0) {
            throw denizen::python_error();
        }
    }
    return list.release();
}

PyObject *argument(PyObject *arguments, Py_ssize_t index)
{
    PyObject *found = PyTuple_GetItem(arguments, index);
    if (found == nullptr) {
        throw denizen::python_error();
    }
    return found;
}

template <class T>
std::vector<T> vector_of(PyObject *sequence)
{
    std::vector<T> elements;
    const std::vector<std::int64_t> numbers = numbers_of(sequence);
    elements.reserve(numbers.size());
    for (const std::int64_t number : numbers) {
        elements.emplace_back(number);
    }
    return elements;
}

denizen::vacant policy_of(PyObject *object)
{
    const std::int64_t number = number_of(object);
    return number == 0   ? denizen::vacant::fill
           : number == 1 ? denizen::vacant::refuse
                         : denizen::vacant::keep;
}

/* ---- functions for every type --------------------------------------------------------------- */

template <class T>
PyObject *values(PyObject *arguments)
{
    const denizen::view<const T> view(argument(arguments, 0), policy_of(argument(arguments, 1)));
    reference list = reference::checked(PyList_New(0));
    for (auto it = view.begin(); it != view.end(); ++it) {
        const T *element = it.get();
        const reference item = element == nullptr
                                   ? reference::borrowed(Py_None)
                                   : reference::checked(PyLong_FromLongLong(element->value()));
        if (PyList_Append(list.get(), item.get()) != 0) {
            throw denizen::python_error();
        }
    }
    return list.release();
}

template <class T>
PyObject *backwards(PyObject *arguments)
{
    const denizen::view<const T> view(argument(arguments, 0));
    std::vector<std::int64_t> numbers;
    for (auto it = std::make_reverse_iterator(view.end());
         it != std::make_reverse_iterator(view.begin()); ++it) {
        numbers.push_back(it->value());
    }
    /* The same by jumps. */
    const auto first = view.begin();
    for (std::ptrdiff_t index = 0; index < view.size(); index++) {
        if (first[index].value() != numbers[static_cast<std::size_t>(view.size() - 1 - index)]) {
            throw std::logic_error("a jump arrived elsewhere");
        }
    }
    return list_of(numbers);
}

template <class T>
PyObject *indexed(PyObject *arguments)
{
    const denizen::view<const T> view(argument(arguments, 0));
    std::vector<std::int64_t> numbers;
    if (view.ndim() == 0) {
        numbers.push_back(view().value());
    } else if (view.ndim() == 1) {
        for (std::ptrdiff_t i = 0; i < view.size(); i++) {
            numbers.push_back(view[i].value());
        }
    } else if (view.ndim() == 2) {
        for (std::ptrdiff_t i = 0; i < view.shape(0); i++) {
            for (int j = 0; j < view.shape(1); j++) {
                numbers.push_back(view(i, j).value());
            }
        }
    } else {
        for (std::ptrdiff_t i = 0; i < view.shape(0); i++) {
            for (std::size_t j = 0; j < static_cast<std::size_t>(view.shape(1)); j++) {
                for (short k = 0; k < view.shape(2); k++) {
                    numbers.push_back(view(i, j, k).value());
                }
            }
        }
    }
    return list_of(numbers);
}

template <class T>
PyObject *at(PyObject *arguments)
{
    const denizen::view<const T> view(argument(arguments, 0), denizen::vacant::keep);
    const std::vector<std::int64_t> index = numbers_of(argument(arguments, 1));
    const T &element = index.empty()       ? view.at()
                       : index.size() == 1 ? view.at(index[0])
                       : index.size() == 2 ? view.at(index[0], index[1])
                                           : view.at(index[0], index[1], index[2]);
    return PyLong_FromLongLong(element.value());
}

/* Writes start, start + 1, .. in C order. */
template <class T>
PyObject *fill(PyObject *arguments)
{
    const denizen::view<T> view(argument(arguments, 0));
    std::int64_t next = number_of(argument(arguments, 1));
    for (T &element : view) {
        element = T(next++);
    }
    Py_RETURN_NONE;
}

/* Builds an object, 100 times its position, in every vacant cell; how many. */
template <class T>
PyObject *build(PyObject *arguments)
{
    const denizen::view<T> view(argument(arguments, 0), denizen::vacant::keep);
    std::int64_t built = 0;
    for (auto it = view.begin(); it != view.end(); ++it) {
        if (it.is_vacant()) {
            it.emplace(100 * (it - view.begin()));
            built++;
        }
    }
    return PyLong_FromLongLong(built);
}

template <class T>
PyObject *sort(PyObject *arguments)
{
    const denizen::view<T> view(argument(arguments, 0));
    std::sort(view.begin(), view.end());
    Py_RETURN_NONE;
}

/* Calls a Python function while a view is open; what it returns. */
template <class T>
PyObject *hold(PyObject *arguments)
{
    const auto call = [&] {
        return reference::checked(PyObject_CallNoArgs(argument(arguments, 2))).release();
    };
    if (PyObject_IsTrue(argument(arguments, 1)) != 0) {
        denizen::view<T> first(argument(arguments, 0));
        const denizen::view<T> moved(std::move(first));
        return call();
    }
    const denizen::view<const T> view(argument(arguments, 0));
    return call();
}

/* Throws one of two exceptions while a view is open. */
template <class T>
PyObject *fail(PyObject *arguments)
{
    const denizen::view<T> view(argument(arguments, 0));
    const std::int64_t which = number_of(argument(arguments, 1));
    if (which == 0) {
        throw std::runtime_error("thrown while a view is open");
    }
    if (which == 1) {
        throw 7;
    }
    PyErr_SetString(PyExc_KeyError, "raised while a view is open");
    return nullptr; /* the view ends while an exception is set */
}

template <class T>
PyObject *geometry(PyObject *arguments)
{
    const denizen::view<const T> view(argument(arguments, 0), denizen::vacant::keep);
    std::vector<std::int64_t> shape(view.shape().begin(), view.shape().end());
    std::vector<std::int64_t> strides;
    for (std::size_t axis = 0; axis < view.ndim(); axis++) {
        strides.push_back(view.strides(axis));
    }
    const reference first = reference::checked(list_of(shape));
    const reference second = reference::checked(list_of(strides));
    return Py_BuildValue("nOOnO", static_cast<Py_ssize_t>(view.ndim()), first.get(), second.get(),
                         static_cast<Py_ssize_t>(view.size()), view.empty() ? Py_True : Py_False);
}

template <class T>
PyObject *take(PyObject *arguments)
{
    std::vector<T> elements = vector_of<T>(argument(arguments, 0));
    const std::int64_t until_throw = number_of(argument(arguments, 1));
    const std::size_t count = elements.size();
    subjects::until_throw = until_throw;
    PyObject *array = PyTuple_Size(arguments) > 2
                          ? denizen::take(std::move(elements), numbers_of(argument(arguments, 2)))
                          : denizen::take(std::move(elements));
    if (!elements.empty() && count != 0) {
        Py_DECREF(array);
        throw std::logic_error("take() left elements");
    }
    return array;
}

template <class T>
PyObject *empty(PyObject *arguments)
{
    denizen::array<T> first = denizen::array<T>::empty(numbers_of(argument(arguments, 0)));
    const denizen::array<T> copy = first;
    denizen::array<T> moved(std::move(first));
    first = moved;
    if (first.ptr() != copy.ptr() || copy.shape() != moved.shape()) {
        throw std::logic_error("copies of an array differ");
    }
    const reference kept = reference::checked(copy.to_python());
    return moved.release();
}

template <class T>
PyObject *dtype(PyObject *)
{
    return denizen::array<T>::dtype();
}

template <class T>
PyObject *same(PyObject *arguments)
{
    return denizen::array<T>::from_python(argument(arguments, 0)).release();
}

template <class T>
PyObject *sizes(PyObject *arguments)
{
    const auto array = denizen::array<T>::from_python(argument(arguments, 0));
    const std::ptrdiff_t size = array.size();
    const std::ptrdiff_t viewed = array.const_view().size();
    return Py_BuildValue("nns", size, viewed, array.shape().text().c_str());
}

template <class T>
PyObject *from_python(PyObject *arguments)
{
    const T value = denizen::from_python<T>(argument(arguments, 0));
    return PyLong_FromLongLong(value.value());
}

template <class T>
PyObject *to_python(PyObject *arguments)
{
    const std::int64_t number = number_of(argument(arguments, 0));
    if constexpr (std::is_copy_constructible_v<T>) {
        const T value(number);
        return denizen::to_python(value);
    } else {
        return denizen::to_python(T(number));
    }
}

/* ---- functions for the inline type ---------------------------------------------------------- */

using subjects::inlined;

/* Sum through a span; sorts through it too. */
PyObject *span_sort(PyObject *arguments)
{
    const denizen::view<inlined> view(argument(arguments, 0));
    const denizen::span<inlined> span = view.span();
    std::sort(span.begin(), span.end());
    const denizen::span<const inlined> reading = span;
    return PyLong_FromLongLong(std::accumulate(
        reading.begin(), reading.end(), std::int64_t{0},
        [](std::int64_t sum, const inlined &element) { return sum + element.value(); }));
}

PyObject *adopt_vector(PyObject *arguments)
{
    std::vector<inlined> elements = vector_of<inlined>(argument(arguments, 0));
    if (PyTuple_Size(arguments) > 1) {
        return denizen::adopt(std::move(elements), numbers_of(argument(arguments, 1)));
    }
    return denizen::adopt(std::move(elements));
}

/* Adopts a vector that C++ keeps too; `shared_value` and `shared_drop` use it. */
PyObject *adopt_shared(PyObject *arguments)
{
    auto elements =
        std::make_shared<std::vector<inlined>>(vector_of<inlined>(argument(arguments, 0)));
    shared_vectors.push_back(elements);
    if (PyObject_IsTrue(argument(arguments, 1)) != 0) {
        return denizen::adopt(std::shared_ptr<const std::vector<inlined>>(elements));
    }
    return denizen::adopt(elements);
}

PyObject *shared_values(PyObject *)
{
    std::vector<std::int64_t> numbers;
    for (const auto &elements : shared_vectors) {
        for (const inlined &element : *elements) {
            numbers.push_back(element.value());
        }
    }
    return list_of(numbers);
}

PyObject *shared_drop(PyObject *)
{
    shared_vectors.clear();
    Py_RETURN_NONE;
}

PyObject *adopt_nothing(PyObject *)
{
    return denizen::adopt(std::shared_ptr<std::vector<inlined>>());
}

/* Points with x = index, in memory whose owner is a moved-in object that counts its end. */
struct memory {
    explicit memory(std::size_t count, bool throws_at_end)
        : points(count), throws(throws_at_end)
    {
        for (std::size_t index = 0; index < count; index++) {
            points[index].x = static_cast<double>(index);
        }
    }
    memory(memory &&other) noexcept : points(std::move(other.points)), throws(other.throws)
    {
        other.moved = true;
    }
    ~memory() noexcept(false)
    {
        if (!moved) {
            owners_ended++;
            if (throws) {
                throw std::runtime_error("an owner that throws");
            }
        }
    }

    std::vector<subjects::point> points;
    bool throws;
    bool moved = false;
};

/* (count, offset in points, shape, strides, const, throws) */
PyObject *adopt_points(PyObject *arguments)
{
    memory owner(static_cast<std::size_t>(number_of(argument(arguments, 0))),
                 PyObject_IsTrue(argument(arguments, 5)) != 0);
    subjects::point *first = owner.points.data() + number_of(argument(arguments, 1));
    const denizen::dimensions shape = numbers_of(argument(arguments, 2));
    const denizen::dimensions strides = numbers_of(argument(arguments, 3));
    if (PyObject_IsTrue(argument(arguments, 4)) != 0) {
        const subjects::point *reading = first;
        return denizen::adopt(reading, shape, strides, std::move(owner));
    }
    return denizen::adopt(first, shape, strides, std::move(owner));
}

/* Points in static memory of this module, whose owner is a Python object or a shared pointer. */
PyObject *adopt_static(PyObject *arguments)
{
    static subjects::point points[3] = {{1, 0}, {2, 0}, {3, 0}};
    PyObject *owner = argument(arguments, 0);
    if (owner == Py_None) {
        const std::shared_ptr<int> counted(new int(0), [](const int *number) {
            owners_ended++;
            delete number;
        });
        return denizen::adopt(&points[0], {3}, counted);
    }
    return denizen::adopt(&points[0], {3}, owner);
}

PyObject *adopt_null(PyObject *arguments)
{
    subjects::point *none = nullptr;
    return denizen::adopt(none, {number_of(argument(arguments, 0))}, argument(arguments, 1));
}

/* x of every point, through a view. */
PyObject *points(PyObject *arguments)
{
    const denizen::view<const subjects::point> view(argument(arguments, 0));
    std::vector<std::int64_t> numbers;
    for (const subjects::point &point : view) {
        numbers.push_back(static_cast<std::int64_t>(point.x));
    }
    return list_of(numbers);
}

PyObject *point_to_python(PyObject *arguments)
{
    return denizen::to_python(
        subjects::point{static_cast<double>(number_of(argument(arguments, 0))), 0});
}

PyObject *point_from_python(PyObject *arguments)
{
    return PyFloat_FromDouble(denizen::from_python<subjects::point>(argument(arguments, 0)).x);
}

struct unknown {};

PyObject *view_of_unknown(PyObject *arguments)
{
    const denizen::view<const unknown> view(argument(arguments, 0));
    return PyLong_FromSsize_t(view.size());
}

PyObject *counters(PyObject *)
{
    return Py_BuildValue("LL", static_cast<long long>(subjects::live),
                         static_cast<long long>(owners_ended));
}

PyObject *throw_after(PyObject *arguments)
{
    subjects::until_throw = number_of(argument(arguments, 0));
    Py_RETURN_NONE;
}

/* ---- the module ----------------------------------------------------------------------------- */

template <PyObject *(*Function)(PyObject *)>
PyObject *guarded(PyObject *, PyObject *arguments)
{
    return denizen::guard([&] { return Function(arguments); });
}

std::vector<PyMethodDef> methods;
std::deque<std::string> names;

template <PyObject *(*Function)(PyObject *)>
void method(const std::string &name)
{
    names.push_back(name);
    methods.push_back({names.back().c_str(), guarded<Function>, METH_VARARGS, nullptr});
}

template <class T>
void methods_of(const std::string &name)
{
    method<values<T>>("values_" + name);
    method<backwards<T>>("backwards_" + name);
    method<indexed<T>>("indexed_" + name);
    method<at<T>>("at_" + name);
    method<fill<T>>("fill_" + name);
    method<build<T>>("build_" + name);
    method<sort<T>>("sort_" + name);
    method<hold<T>>("hold_" + name);
    method<fail<T>>("fail_" + name);
    method<geometry<T>>("geometry_" + name);
    method<take<T>>("take_" + name);
    method<empty<T>>("empty_" + name);
    method<dtype<T>>("dtype_" + name);
    method<same<T>>("same_" + name);
    method<sizes<T>>("sizes_" + name);
    method<from_python<T>>("from_python_" + name);
    method<to_python<T>>("to_python_" + name);
}

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "cpp_data", nullptr, -1, nullptr, nullptr, nullptr,
                          nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit_cpp_data()
{
    return denizen::guard([]() -> PyObject * {
        methods_of<subjects::inlined>("inline");
        methods_of<subjects::tagged>("tagged");
        methods_of<subjects::boxed>("boxed");
        methods_of<subjects::sole>("sole");
        method<span_sort>("span_sort");
        method<adopt_vector>("adopt_vector");
        method<adopt_shared>("adopt_shared");
        method<shared_values>("shared_values");
        method<shared_drop>("shared_drop");
        method<adopt_nothing>("adopt_nothing");
        method<adopt_points>("adopt_points");
        method<adopt_static>("adopt_static");
        method<adopt_null>("adopt_null");
        method<points>("points");
        method<point_to_python>("point_to_python");
        method<point_from_python>("point_from_python");
        method<view_of_unknown>("view_of_unknown");
        method<counters>("counters");
        method<throw_after>("throw_after");
        methods.push_back({nullptr, nullptr, 0, nullptr});
        definition.m_methods = methods.data();
        reference module = reference::checked(PyModule_Create(&definition));
        subjects::add_to<subjects::inlined>(module.get(), "cpp_data.Inline");
        subjects::add_to<subjects::tagged>(module.get(), "cpp_data.Tagged");
        subjects::add_to<subjects::boxed>(module.get(), "cpp_data.Boxed");
        subjects::add_to<subjects::sole>(module.get(), "cpp_data.Sole");
        subjects::add_to<subjects::point>(module.get(), "cpp_data.Point");
        return module.release();
    });
}
