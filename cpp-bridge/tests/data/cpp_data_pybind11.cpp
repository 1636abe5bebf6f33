/* Views and arrays of another module's type in functions of pybind11; test_bindings.py uses it. */
#include "subjects.hpp"

#include <denizen/cpp/adopt.hpp>
#include <denizen/cpp/scalar.hpp>
#include <denizen/cpp/take.hpp>
#include <denizen/pybind11.hpp>

namespace py = pybind11;
using subjects::inlined;

static inlined elements[2];

PYBIND11_MODULE(cpp_data_pybind11, module)
{
    denizen::register_pybind11();
    denizen::import_element<inlined>("cpp_data.Inline");

    module.def("total", [](const denizen::array<inlined> &array) {
        std::int64_t total = 0;
        for (const inlined &element : array.const_view()) {
            total += element.value();
        }
        return total;
    });
    module.def("first", [](const py::object &array) {
        return denizen::view<const inlined>(array).at(0).value();
    });
    module.def("count_up", [](const py::handle &array, py::function each) {
        for (inlined &element : denizen::view<inlined>(array)) {
            element = inlined(element.value() + 1);
            each(element.value());
        }
    });
    module.def("zeros", [](std::ptrdiff_t count) { return denizen::array<inlined>::zeros(count); });
    module.def("adopt", [](std::ptrdiff_t count) {
        std::vector<inlined> elements(static_cast<std::size_t>(count));
        return py::reinterpret_steal<py::object>(denizen::adopt(std::move(elements)));
    });
    module.def("adopt_with", [](py::object owner) {
        return py::reinterpret_steal<py::object>(denizen::adopt(&elements[0], {2}, owner));
    });
    module.def("read", [](py::handle object) {
        return denizen::from_python<inlined>(object).value();
    });
    module.def("live", [] { return subjects::live; });
}
