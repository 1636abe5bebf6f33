// An element type with faults on purpose, one a ufunc, so that the tests of `denizen check` see that
// each is found:
//
//   negative    wrong: every seventh result is one more
//   positive    its fifth call throws what no operation may raise
//   absolute    an array that nobody ever drops
//   invert      a write through a null pointer
//   square      no end
//   reciprocal  refused, without a word
//   rint        refused, and says why
//
// and types that crash where `denizen check` finds out what they can do: `Crashing` in its `*`,
// `Fragile` where it reads a text of a negative number. `Picky` has no order of one value, of objects
// neither.
#include <denizen/denizen.hpp>

#include <cmath>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct broken {
    long value = 0;
    friend bool operator==(broken a, broken b) { return a.value == b.value; }
    friend bool operator<(broken a, broken b) { return a.value < b.value; }
    friend std::ostream &operator<<(std::ostream &stream, broken a) { return stream << a.value; }
};

long calls = 0;
volatile long *nowhere = nullptr;

struct crashing : broken {
    friend crashing operator+(crashing a, crashing b) { return {{a.value + b.value}}; }
    friend crashing operator-(crashing a, crashing b) { return {{a.value - b.value}}; }
    friend crashing operator-(crashing a) { return {{-a.value}}; }
    friend crashing operator*(crashing a, crashing)
    {
        *nowhere = a.value;
        return a;
    }
};

struct fragile : broken {
    fragile() = default;
    explicit fragile(const std::string &text) : broken{std::stol(text)}
    {
        if (value < 0) {
            *nowhere = value;
        }
    }
};

void add_broken(PyObject *module)
{
    using denizen::error;
    using denizen::error_kind;
    denizen::element<broken>("Broken")
        .ordering()
        .text()
        .cast_from<long>(denizen::casting::safe, [](long value) { return broken{value}; })
        .loop("negative",
              [](const broken &x) { return broken{-x.value + (++calls % 7 == 0)}; })
        .loop("positive",
              [](const broken &x) {
                  if (++calls == 5) {
                      throw std::runtime_error("the fifth call");
                  }
                  return x;
              })
        .loop("absolute",
              [](const broken &x) {
                  (void)denizen::take(std::vector<broken>{broken{7}});
                  return broken{std::abs(x.value)};
              })
        .loop("invert",
              [](const broken &x) {
                  *nowhere = x.value;
                  return x;
              })
        .loop("square",
              [](const broken &x) {
                  while (calls >= 0) {
                      std::this_thread::sleep_for(std::chrono::milliseconds(10));
                  }
                  return x;
              })
        .loop("reciprocal",
              [](const broken &x) -> broken {
                  throw error(error_kind::value, std::to_string(x.value));
              })
        .loop("rint",
              [](const broken &) -> broken {
                  throw error(error_kind::value, "broken numbers are not rounded");
              })
        .needs_gil()
        .add_to(module);
}

struct picky : broken {
    friend bool operator<(picky a, picky b)
    {
        if (a.value == 17 || b.value == 17) {
            throw std::runtime_error("no order of 17");
        }
        return a.value < b.value;
    }
};

void add_crashing(PyObject *module)
{
    denizen::element<crashing>("Crashing")
        .ordering()
        .text()
        .arithmetic()
        .cast_from<long>(denizen::casting::safe, [](long value) { return crashing{{value}}; })
        .needs_gil()
        .add_to(module);
    denizen::element<picky>("Picky")
        .ordering()
        .text()
        .cast_from<long>(denizen::casting::safe, [](long value) { return picky{{value}}; })
        .needs_gil()
        .add_to(module);
    denizen::element<fragile>("Fragile").ordering().text().needs_gil().add_to(module);
}

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "broken", nullptr, -1, nullptr, {}, {}, {}, {}};

} // namespace

PyMODINIT_FUNC PyInit_broken()
{
    return denizen::guard([]() -> PyObject * {
        PyObject *module = PyModule_Create(&definition);
        if (module != nullptr) {
            add_broken(module);
            add_crashing(module);
        }
        return module;
    });
}
