/*
 * denizen.hpp: C++ objects as elements of NumPy arrays. Header only; C++17.
 */
#ifndef DENIZEN_DENIZEN_HPP
#define DENIZEN_DENIZEN_HPP

#include <denizen/denizen.h>

#include <denizen/cpp/element.hpp>
#include <denizen/cpp/error.hpp>
#include <denizen/cpp/runtime.hpp>
#include <denizen/cpp/storage.hpp>
#include <denizen/cpp/traits.hpp>

#endif
