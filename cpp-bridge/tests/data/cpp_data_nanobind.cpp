/* Views and arrays of another module's type in functions of nanobind; test_bindings.py uses it. */
#include "subjects.hpp"

#include <denizen/cpp/adopt.hpp>
#include <denizen/cpp/scalar.hpp>
#include <denizen/cpp/take.hpp>
#include <denizen/nanobind.hpp>

namespace nb = nanobind;
using subjects::inlined;

static inlined elements[2];

NB_MODULE(cpp_data_nanobind, module)
{
    denizen::register_nanobind();
    denizen::import_element<inlined>("cpp_data.Inline");

    module.def("total", [](const denizen::array<inlined> &array) {
        std::int64_t total = 0;
        for (const inlined &element : array.const_view()) {
            total += element.value();
        }
        return total;
    });
    module.def("first", [](const nb::object &array) {
        return denizen::view<const inlined>(array).at(0).value();
    });
    module.def("count_up", [](const nb::handle &array, nb::callable each) {
        for (inlined &element : denizen::view<inlined>(array)) {
            element = inlined(element.value() + 1);
            each(element.value());
        }
    });
    module.def("zeros", [](std::ptrdiff_t count) { return denizen::array<inlined>::zeros(count); });
    module.def("adopt", [](std::ptrdiff_t count) {
        std::vector<inlined> elements(static_cast<std::size_t>(count));
        return nb::steal(denizen::adopt(std::move(elements)));
    });
    module.def("adopt_with", [](nb::object owner) {
        return nb::steal(denizen::adopt(&elements[0], {2}, owner));
    });
    module.def("read", [](nb::handle object) {
        return denizen::from_python<inlined>(object).value();
    });
    module.def("live", [] { return subjects::live; });
}
