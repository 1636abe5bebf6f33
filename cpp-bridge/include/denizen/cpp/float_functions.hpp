/*
 * The ufuncs that NumPy computes of integers as floats: what element::float_functions() hands over.
 */
#ifndef DENIZEN_CPP_FLOAT_FUNCTIONS_HPP
#define DENIZEN_CPP_FLOAT_FUNCTIONS_HPP

#include <denizen/cpp/scalars.hpp>
#include <denizen/denizen.h>

#include <cstddef>
#include <vector>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/** A ufunc and the operands of NumPy's own loop: `d` a double, `i` an int, `l` a long. */
struct float_function {
    const char *ufunc;
    std::size_t inputs;
    const char *types;

    std::vector<denizen_operand> operands() const
    {
        std::vector<denizen_operand> result;
        for (const char *type = types; *type != '\0'; type++) {
            const int number = *type == 'd'   ? type_number<double>
                               : *type == 'i' ? type_number<int>
                                              : type_number<long>;
            result.push_back({DENIZEN_OPERAND_NUMPY, number, nullptr});
        }
        return result;
    }
};

inline constexpr float_function float_functions[] = {
    {"sqrt", 1, "dd"},       {"cbrt", 1, "dd"},       {"exp", 1, "dd"},
    {"exp2", 1, "dd"},       {"expm1", 1, "dd"},      {"log", 1, "dd"},
    {"log2", 1, "dd"},       {"log10", 1, "dd"},      {"log1p", 1, "dd"},
    {"sin", 1, "dd"},        {"cos", 1, "dd"},        {"tan", 1, "dd"},
    {"arcsin", 1, "dd"},     {"arccos", 1, "dd"},     {"arctan", 1, "dd"},
    {"sinh", 1, "dd"},       {"cosh", 1, "dd"},       {"tanh", 1, "dd"},
    {"arcsinh", 1, "dd"},    {"arccosh", 1, "dd"},    {"arctanh", 1, "dd"},
    {"deg2rad", 1, "dd"},    {"rad2deg", 1, "dd"},    {"degrees", 1, "dd"},
    {"radians", 1, "dd"},    {"fabs", 1, "dd"},       {"spacing", 1, "dd"},
    {"modf", 1, "ddd"},      {"frexp", 1, "ddi"},     {"ldexp", 2, "dld"},
    {"arctan2", 2, "ddd"},   {"hypot", 2, "ddd"},     {"logaddexp", 2, "ddd"},
    {"logaddexp2", 2, "ddd"}, {"copysign", 2, "ddd"}, {"nextafter", 2, "ddd"},
    {"heaviside", 2, "ddd"}, {"float_power", 2, "ddd"},
};

}  // namespace detail
}  // namespace denizen

#endif
