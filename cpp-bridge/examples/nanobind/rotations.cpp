// The extension module `rotations`, with nanobind: nanobind's class is the scalar class of arrays.
//
//   rotations.Rotation(axis, angle)    the class and dtype; `*` is composition
//   rotations.turn(a, v)               the vector v turned by each rotation of an array, as a list
//   rotations.steps(rotation, n)       its powers 1 .. n: an array over a std::vector, not copied
#include "rotation.hpp"

#include <denizen/nanobind.hpp>
#include <nanobind/operators.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

namespace nb = nanobind;

/// What may stand for a rotation in `a[0] = ..`.
static rotation rotation_of(PyObject *object)
{
    rotation value;
    if (!nb::try_cast(nb::handle(object), value)) {
        throw denizen::error(denizen::error_kind::type, "expected a Rotation");
    }
    return value;
}

static std::string text(const rotation &r)
{
    return "Rotation by " + std::to_string(r.angle());
}

NB_MODULE(rotations, module)
{
    // denizen's exceptions arrive as themselves in the functions below.
    denizen::register_nanobind();

    nb::class_<rotation> python_class(module, "Rotation", "A rotation in space.");
    python_class.def(nb::init<>())
        .def(nb::init<const vector3 &, double>(), nb::arg("axis"), nb::arg("angle"))
        .def_prop_ro("angle", &rotation::angle)
        .def("inverse", &rotation::inverse)
        .def("__call__", &rotation::operator())
        .def(nb::self * nb::self)
        .def("__repr__", text);

    denizen::element<rotation>("Rotation")
        .python_class(python_class, [](const rotation &r) { return nb::cast(r); }, rotation_of)
        .arithmetic()                           // `*` is what there is: multiply
        .text(text)
        .one(rotation())                        // the product of none
        .loop("reciprocal", [](const rotation &r) { return r.inverse(); })
        .loop("absolute", [](const rotation &r) { return r.angle(); })
        .thread_safe()
        .add_to(module);

    module.def("turn", [](const denizen::array<rotation> &array, const vector3 &v) {
        std::vector<vector3> turned;
        for (const rotation &r : array.const_view()) {
            turned.push_back(r(v));
        }
        return turned;
    });
    module.def("steps", [](const rotation &step, std::size_t count) {
        std::vector<rotation> powers;
        powers.reserve(count);
        rotation power;
        for (std::size_t index = 0; index < count; index++) {
            powers.push_back(power = power * step);
        }
        // The array owns the vector now. A new reference, hence steal.
        return nb::steal(denizen::adopt(std::move(powers)));
    });
}
