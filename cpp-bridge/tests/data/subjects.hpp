/*
 * Element types of every storage for the tests of views, arrays and adoption. They count their
 * lives, and those that may throw do so when they are told to.
 */
#ifndef DENIZEN_TESTS_SUBJECTS_HPP
#define DENIZEN_TESTS_SUBJECTS_HPP

#include <denizen/denizen.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <denizen/cpp/runtime.hpp>

namespace subjects {

enum class stored { inlined, tagged, boxed, sole };

/* Objects of all cases; what is left until a construction throws (negative: none does). */
inline std::int64_t live = 0;
inline std::int64_t until_throw = -1;

inline void step()
{
    if (until_throw >= 0 && until_throw-- == 0) {
        throw std::runtime_error("a subject that throws");
    }
}

/* Where an object is: a boxed one never changes its address. */
template <stored Stored>
struct anchor {
    bool holds() const { return true; }
};
template <>
struct anchor<stored::boxed> {
    anchor() = default;
    anchor(const anchor &) noexcept {}
    anchor &operator=(const anchor &) noexcept { return *this; }
    bool holds() const { return self == this; }

    const anchor *self = this;
};

/* A number, kept as an odd one, so that no object is all zero. */
template <stored Stored>
class subject : private anchor<Stored> {
public:
    subject()
    {
        step();
        live++;
    }
    explicit subject(std::int64_t value) : odd_(2 * value + 1)
    {
        step();
        live++;
    }
    subject(const subject &other) : anchor<Stored>(other), odd_(other.odd_)
    {
        step();
        live++;
    }
    subject(subject &&other) noexcept(Stored != stored::boxed)
        : anchor<Stored>(other), odd_(other.odd_)
    {
        if constexpr (Stored == stored::boxed) {
            step();
        }
        other.odd_ = 2 * -1 + 1;
        live++;
    }
    subject &operator=(const subject &other) = default;
    subject &operator=(subject &&other) = default;
    ~subject() { live--; }

    std::int64_t value() const
    {
        if (!this->holds()) {
            throw std::logic_error("a subject whose address has changed");
        }
        return (odd_ - 1) / 2;
    }
    friend bool operator<(const subject &left, const subject &right)
    {
        return left.odd_ < right.odd_;
    }

private:
    std::int64_t odd_ = 1;
};

/* Can only be moved, and has no default. */
template <>
class subject<stored::sole> {
public:
    explicit subject(std::int64_t value) : odd_(2 * value + 1) { live++; }
    subject(subject &&other) noexcept : odd_(std::exchange(other.odd_, 2 * -1 + 1)) { live++; }
    subject &operator=(subject &&other) noexcept
    {
        odd_ = std::exchange(other.odd_, 2 * -1 + 1);
        return *this;
    }
    ~subject() { live--; }

    std::int64_t value() const { return (odd_ - 1) / 2; }
    friend bool operator<(const subject &left, const subject &right)
    {
        return left.odd_ < right.odd_;
    }

private:
    std::int64_t odd_;
};

/* Zero bytes are its default. */
struct point {
    double x = 0;
    double y = 0;
};

/* The text of a subject or a point, and back. */
template <stored Stored>
std::string text_of(const subject<Stored> &value)
{
    return std::to_string(value.value());
}
inline std::string text_of(const point &value)
{
    return std::to_string(static_cast<long long>(value.x)) + "|" +
           std::to_string(static_cast<long long>(value.y));
}

using inlined = subject<stored::inlined>;
using tagged = subject<stored::tagged>;
using boxed = subject<stored::boxed>;
using sole = subject<stored::sole>;

} // namespace subjects

template <>
struct denizen::is_trivially_relocatable<subjects::inlined> : std::true_type {};
template <>
struct denizen::zero_bytes<subjects::inlined>
    : std::integral_constant<denizen::zero, denizen::zero::vacant> {};
template <>
struct denizen::is_trivially_relocatable<subjects::tagged> : std::true_type {};
template <>
struct denizen::zero_bytes<subjects::point>
    : std::integral_constant<denizen::zero, denizen::zero::default_value> {};

#endif
