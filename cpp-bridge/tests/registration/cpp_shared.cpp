/* Types that several modules share, and that OTHER makes different: as a matrix of Eigen is where one
 * module is built with AVX and another without it, and a struct whose members a macro chooses. */
#include <denizen/denizen.hpp>

#include <string>
#include <type_traits>

/* The same everywhere. */
struct agreed {
    double values[4] = {1, 2, 3, 4};
};

/* Another size. Boxed: its cell is a pointer either way. */
struct sized {
#ifdef OTHER
    double values[72] = {};
#else
    double values[4] = {};
#endif
    ~sized() {}
};

/* Another alignment. */
#ifdef OTHER
constexpr std::size_t alignment = 64;
#else
constexpr std::size_t alignment = 32;
#endif
struct alignas(alignment) aligned {
    double values[8] = {};
};

/* Another promise about zero bytes; all else is the same. */
struct promised {
    long value = 0;
};
#ifdef OTHER
template <>
struct denizen::zero_bytes<promised>
    : std::integral_constant<denizen::zero, denizen::zero::vacant> {};
#else
template <>
struct denizen::zero_bytes<promised>
    : std::integral_constant<denizen::zero, denizen::zero::default_value> {};
#endif

/* Another storage. */
struct stored {
    void *pointer = nullptr;
};
#ifdef OTHER
constexpr denizen::storage chosen = denizen::storage::boxed;
#else
constexpr denizen::storage chosen = denizen::storage::tagged;
#endif

/* Of which the telling bytes are others. */
struct telling {
    long first = 1, second = 1;
};
template <>
struct denizen::zero_bytes<telling>
#ifdef OTHER
    : denizen::never_zero<0, sizeof(long)> {
#else
    : denizen::never_zero<sizeof(long), sizeof(long)> {
#endif
};

#ifdef OWNER
static void add(PyObject *module)
{
    denizen::element<agreed>("Agreed").add_to(module);
    denizen::element<sized>("Sized").add_to(module);
    denizen::element<aligned>("Aligned").add_to(module);
    denizen::element<promised>("Promised").add_to(module);
    denizen::element<stored, chosen>("Stored").add_to(module);
    denizen::element<telling>("Telling").add_to(module);
}
#endif

/* share(name): imports one of the owner's types. */
static PyObject *share(PyObject *, PyObject *argument)
{
    return denizen::guard([&]() -> PyObject * {
        const char *text = PyUnicode_AsUTF8(argument);
        if (text == nullptr) {
            throw denizen::python_error();
        }
        const std::string name = text;
        const std::string full = "cpp_shared_owner." + name;
        if (name == "Agreed") {
            denizen::import_element<agreed>(full.c_str());
        } else if (name == "Sized") {
            denizen::import_element<sized>(full.c_str());
        } else if (name == "Aligned") {
            denizen::import_element<aligned>(full.c_str());
        } else if (name == "Promised") {
            denizen::import_element<promised>(full.c_str());
        } else if (name == "Stored") {
            denizen::import_element<stored, chosen>(full.c_str());
        } else if (name == "Telling") {
            denizen::import_element<telling>(full.c_str());
        }
        Py_RETURN_NONE;
    });
}

/* total(array): the sum of the numbers in an array of Agreed. */
static PyObject *total(PyObject *, PyObject *array)
{
    return denizen::guard([&] {
        double sum = 0;
        for (const agreed &element : denizen::view<const agreed>(array)) {
            for (double value : element.values) {
                sum += value;
            }
        }
        return PyFloat_FromDouble(sum);
    });
}

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define PASTE_OF(left, right) left##right
#define PASTE(left, right) PASTE_OF(left, right)

static PyMethodDef methods[] = {{"share", share, METH_O, nullptr},
                                {"total", total, METH_O, nullptr},
                                {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, TEXT(MODULE), nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr,
};

PyMODINIT_FUNC PASTE(PyInit_, MODULE)(void)
{
    return denizen::guard([]() -> PyObject * {
        PyObject *module = PyModule_Create(&definition);
#ifdef OWNER
        if (module != nullptr) {
            add(module);
        }
#endif
        return module;
    });
}
