/* Views, adoption and single values of standard types, and of a type whose author chose another
 * storage than its own; test_standard.py uses it. */
#include <denizen/denizen.hpp>

#include <memory>
#include <string>
#include <vector>

#include <denizen/pybind11.hpp>

namespace py = pybind11;

namespace {

/* Could be inline, and is registered as boxed. */
struct chosen {
    double value = 0;
    friend bool operator==(const chosen &left, const chosen &right)
    {
        return left.value == right.value;
    }
};

using pointer = std::unique_ptr<int>;
using series = std::vector<double>;

py::object own(PyObject *object)
{
    return py::reinterpret_steal<py::object>(object);
}

} // namespace

template <>
struct denizen::zero_bytes<chosen>
    : std::integral_constant<denizen::zero, denizen::zero::default_value> {};

PYBIND11_MODULE(cpp_data_standard, module)
{
    denizen::register_pybind11();
    denizen::element<std::string>("Text").text().ordering().add_to(module);
    denizen::element<pointer>("Pointer").add_to(module);
    denizen::element<series>("Series").add_to(module);
    denizen::element<chosen>("Chosen").storage<denizen::storage::boxed>().add_to(module);

    module.def("texts", [] {
        std::vector<std::string> texts = {"short", std::string(100, 'x'), ""};
        return own(denizen::take(std::move(texts)));
    });
    module.def("lengths", [](const py::object &array) {
        std::vector<std::size_t> lengths;
        for (const std::string &text : denizen::view<const std::string>(array)) {
            lengths.push_back(text.size());
        }
        py::list list;
        for (const std::size_t length : lengths) {
            list.append(length);
        }
        return list;
    });
    module.def("append", [](const py::object &array, const char *tail) {
        for (std::string &text : denizen::view<std::string>(array)) {
            text += tail;
        }
    });
    module.def("text", [](const char *text) { return own(denizen::to_python(std::string(text))); });
    module.def("length", [](py::handle text) {
        return denizen::from_python<std::string>(text).size();
    });

    module.def("pointers", [](int count, bool adopted) {
        std::vector<pointer> pointers;
        for (int number = 0; number < count; number++) {
            pointers.push_back(number == 0 ? nullptr : std::make_unique<int>(number));
        }
        return own(adopted ? denizen::adopt(std::move(pointers))
                           : denizen::take(std::move(pointers)));
    });
    module.def("pointed", [](const py::object &array) {
        int sum = 0;
        for (const pointer &number : denizen::view<const pointer>(array).span()) {
            sum += number == nullptr ? 0 : *number;
        }
        return sum;
    });
    module.def("move_out", [](const py::object &array, std::ptrdiff_t index) {
        const pointer taken = std::move(denizen::view<pointer>(array).at(index));
        return taken == nullptr ? 0 : *taken;
    });

    module.def("grow", [](const py::object &array) {
        for (series &each : denizen::view<series>(array)) {
            each.push_back(1.5);
        }
    });
    module.def("total", [](const py::object &array) {
        double total = 0;
        for (const series &each : denizen::view<const series>(array)) {
            for (const double number : each) {
                total += number;
            }
        }
        return total;
    });

    module.def("chosen_values", [](const py::object &array) {
        const denizen::view<chosen> view(array);
        double total = 0;
        for (chosen &each : view) {
            each.value += 1;
            total += each.value;
        }
        return total;
    });
    module.def("chosen_data", [](const py::object &array) {
        return denizen::view<chosen>(array).span().size();
    });
    module.def("chosen_adopt", [] { return own(denizen::adopt(std::vector<chosen>(3))); });
}
