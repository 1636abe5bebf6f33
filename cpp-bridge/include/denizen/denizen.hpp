/*
 * denizen.hpp: C++ objects as elements of NumPy arrays. Header only; C++17.
 */
#ifndef DENIZEN_DENIZEN_HPP
#define DENIZEN_DENIZEN_HPP

#if __cplusplus < 201703L
#error "denizen needs C++17: compile with -std=c++17 or a later one"
#else

#include <denizen/denizen.h>

#include <denizen/cpp/adopt.hpp>
#include <denizen/cpp/array.hpp>
#include <denizen/cpp/dimensions.hpp>
#include <denizen/cpp/element.hpp>
#include <denizen/cpp/error.hpp>
#include <denizen/cpp/runtime.hpp>
#include <denizen/cpp/scalar.hpp>
#include <denizen/cpp/span.hpp>
#include <denizen/cpp/storage.hpp>
#include <denizen/cpp/take.hpp>
#include <denizen/cpp/traits.hpp>
#include <denizen/cpp/view.hpp>
#include <denizen/cpp/without_gil.hpp>

#endif
#endif
