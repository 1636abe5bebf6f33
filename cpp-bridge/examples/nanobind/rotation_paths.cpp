// The extension module `rotation_paths`: takes and makes arrays of a type that another module,
// `rotations`, registered. They share a header, nothing is linked.
//
//   rotation_paths.accumulate(a)       the products of the first 1, 2, .. rotations: a new array
//   rotation_paths.invert(a)           in place
#include "rotation.hpp"

#include <denizen/nanobind.hpp>

#include <vector>

namespace nb = nanobind;

NB_MODULE(rotation_paths, module)
{
    denizen::register_nanobind();

    // From here on a `rotation` of this module is an element of that dtype. Imports `rotations` if
    // nobody did yet. Where its type has another size, alignment, storage or C++ type than the
    // header says (an old build, say), this is a TypeError, and the import of this module fails.
    denizen::import_element<rotation>("rotations.Rotation");

    module.def("accumulate", [](const denizen::array<rotation> &array) {
        std::vector<rotation> path;
        rotation product;
        for (const rotation &r : array.const_view()) {
            path.push_back(product = product * r);
        }
        return nb::steal(denizen::take(std::move(path)));
    });
    module.def("invert", [](const nb::object &array) {
        for (rotation &r : denizen::view<rotation>(array)) {
            r = r.inverse();
        }
    });
}
