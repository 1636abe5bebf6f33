/*
 * A type that can do everything, checks itself, and throws at any one of all the steps it takes, in
 * two storages: Tracer (boxed, as it may not be moved with memcpy) and TaggedTracer. The object
 * `countdown` is a source of faults for `denizen check --faults --kind cpp_tracer:countdown`.
 */
#include <denizen/denizen.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <istream>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

std::atomic<std::uint64_t> after{UINT64_MAX};
std::atomic<std::uint64_t> seen{0};
std::atomic<bool> happened{false};
std::atomic<std::int64_t> live{0};
/* Values that were used after their end, or ended twice. */
std::atomic<std::int64_t> misused{0};

constexpr std::uint64_t salt = 0x5AFE0B1EC75AFE12;

/* One step, which may be the one that fails. */
void step(const char *name)
{
    if (seen.fetch_add(1) == after.load() && !happened.exchange(true)) {
        throw std::runtime_error(std::string("planned fault in ") + name);
    }
}

template <bool Movable>
class tracer {
  public:
    tracer() : tracer("default", 0) {}
    tracer(const char *name, std::int64_t number)
    {
        step(name);
        number_ = new std::int64_t(number);
        check_ = static_cast<std::uint64_t>(number) ^ salt;
        live++;
    }
    tracer(const tracer &other) : tracer("copy", other.checked()) {}
    tracer &operator=(const tracer &other)
    {
        const std::int64_t number = other.read("assign");
        checked();
        *number_ = number;
        check_ = static_cast<std::uint64_t>(number) ^ salt;
        return *this;
    }
    ~tracer()
    {
        checked();
        check_ = 0;
        delete number_;
        live--;
    }

    std::int64_t checked() const
    {
        if ((check_ ^ salt) != static_cast<std::uint64_t>(*number_)) {
            misused++;
        }
        return *number_;
    }
    std::int64_t read(const char *name) const
    {
        step(name);
        return checked();
    }
    std::uint64_t bits() const { return static_cast<std::uint64_t>(checked()); }

    /* Unsigned: sums and products may wrap around. */
    static tracer made(const char *name, std::uint64_t bits)
    {
        return tracer(name, static_cast<std::int64_t>(bits));
    }
    friend tracer operator+(const tracer &x, const tracer &y)
    {
        return made("+", x.bits() + y.bits());
    }
    friend tracer operator-(const tracer &x, const tracer &y)
    {
        return made("-", x.bits() - y.bits());
    }
    friend tracer operator*(const tracer &x, const tracer &y)
    {
        return made("*", x.bits() * y.bits());
    }
    friend tracer operator/(const tracer &x, const tracer &y)
    {
        if (y.checked() == 0) {
            throw denizen::error(denizen::error_kind::zero_division, "division by zero");
        }
        return tracer("/", y.checked() == -1 ? -x.checked() : x.checked() / y.checked());
    }
    friend tracer operator-(const tracer &x) { return made("negative", 0 - x.bits()); }
    friend bool operator==(const tracer &x, const tracer &y) { return x.read("==") == y.checked(); }
    friend bool operator!=(const tracer &x, const tracer &y) { return x.read("!=") != y.checked(); }
    friend bool operator<(const tracer &x, const tracer &y) { return x.read("<") < y.checked(); }
    friend bool operator<=(const tracer &x, const tracer &y) { return x.read("<=") <= y.checked(); }
    friend bool operator>(const tracer &x, const tracer &y) { return x.read(">") > y.checked(); }
    friend bool operator>=(const tracer &x, const tracer &y) { return x.read(">=") >= y.checked(); }

  private:
    std::int64_t *number_ = nullptr;
    std::uint64_t check_ = 0;
};

template <class T>
T parsed(std::string_view text)
{
    std::size_t used = 0;
    const std::string whole(text);
    const std::int64_t number = std::stoll(whole, &used);
    if (used != whole.size()) {
        throw std::invalid_argument("'" + whole + "' is no number");
    }
    return T("parse", number);
}

template <class T>
std::string saved(const T &x)
{
    const std::int64_t number = x.read("save");
    return std::string(reinterpret_cast<const char *>(&number), sizeof(number));
}

template <class T>
T loaded(std::string_view bytes)
{
    std::int64_t number = 0;
    if (bytes.size() != sizeof(number)) {
        throw std::invalid_argument("not 8 bytes");
    }
    std::memcpy(&number, bytes.data(), sizeof(number));
    return T("load", number);
}

template <class T>
void add(PyObject *module, const char *name)
{
    denizen::element<T>(name)
        .arithmetic()
        .ordering()
        .linear_algebra()
        .text([](const T &x) { return std::to_string(x.read("text")); }, parsed<T>)
        .codec(saved<T>, loaded<T>)
        .hash([](const T &x) { return static_cast<std::size_t>(x.read("hash")); })
        .nonzero([](const T &x) { return x.read("nonzero") != 0; })
        .heap_bytes([](const T &) { return sizeof(std::int64_t); })
        .zero(T())
        .one(T("one", 1))
        .template cast_from<std::int64_t>(denizen::casting::safe,
                                          [](std::int64_t x) { return T("from int64", x); })
        .template cast_from<double>(denizen::casting::unsafe,
                                    [](double x) {
                                        return T("from double", static_cast<std::int64_t>(x));
                                    })
        .template cast_to<std::int64_t>(denizen::casting::same_kind,
                                        [](const T &x) { return x.read("to int64"); })
        .template cast_to<double>(denizen::casting::same_kind,
                                  [](const T &x) { return static_cast<double>(x.read("to double")); })
        .float_functions()
        .thread_safe()
        .add_to(module);
}

// ---- the countdown -------------------------------------------------------------------------------

PyObject *plan(PyObject *, PyObject *steps)
{
    const std::uint64_t planned =
        steps == Py_None ? UINT64_MAX : PyLong_AsUnsignedLongLong(steps);
    if (PyErr_Occurred()) {
        return nullptr;
    }
    after = UINT64_MAX;
    seen = 0;
    happened = false;
    after = planned;
    Py_RETURN_NONE;
}

PyObject *end(PyObject *, PyObject *)
{
    after = UINT64_MAX;
    return Py_BuildValue("KN", static_cast<unsigned long long>(seen.exchange(0)),
                         PyBool_FromLong(happened.exchange(false)));
}

PyObject *counts(PyObject *, void *)
{
    return Py_BuildValue("{sLsL}", "C++ tracers alive", static_cast<long long>(live.load()),
                         "dead C++ tracers used", static_cast<long long>(misused.load()));
}

PyMethodDef countdown_methods[] = {{"plan", plan, METH_O, nullptr},
                                   {"end", end, METH_NOARGS, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};
PyGetSetDef countdown_members[] = {{"counts", counts, nullptr, nullptr, nullptr},
                                   {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot countdown_slots[] = {{Py_tp_methods, countdown_methods},
                                 {Py_tp_getset, countdown_members},
                                 {0, nullptr}};
PyType_Spec countdown_spec = {"cpp_tracer.Countdown", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT,
                              countdown_slots};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "cpp_tracer", nullptr, -1, nullptr, {}, {}, {}, {}};

} // namespace

/* A pointer to the heap and a word: memcpy moves them. */
template <>
struct denizen::is_trivially_relocatable<tracer<true>> : std::true_type {};

PyMODINIT_FUNC PyInit_cpp_tracer()
{
    PyObject *module = PyModule_Create(&definition);
    if (module == nullptr) {
        return nullptr;
    }
    const int added = denizen::guard([&] {
        add<tracer<false>>(module, "Tracer");
        add<tracer<true>>(module, "TaggedTracer");
    });
    if (added != 0) {
        Py_DECREF(module);
        return nullptr;
    }
    PyObject *type = PyType_FromSpec(&countdown_spec);
    PyObject *countdown = type == nullptr ? nullptr : PyObject_CallNoArgs(type);
    Py_XDECREF(type);
    if (countdown == nullptr || PyModule_AddObjectRef(module, "countdown", countdown) < 0) {
        Py_XDECREF(countdown);
        Py_DECREF(module);
        return nullptr;
    }
    Py_DECREF(countdown);
    return module;
}
