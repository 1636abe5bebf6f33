/*
 * The element: a number written out on the heap, which knows whether it is still what it was: the
 * twin of tests/clients/hostile/src/text.rs.
 */
#ifndef DENIZEN_TESTS_HOSTILE_TEXT_HPP
#define DENIZEN_TESTS_HOSTILE_TEXT_HPP

#include "hooks.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <type_traits>

constexpr std::uint64_t alive = 0x6c6976656c697665, ending = 0x656e64696e67, gone = 0x676f6e65676f;

inline std::atomic<std::uint64_t> next_serial{1};

inline std::string written(long long value, std::uint64_t serial)
{
    std::array<char, 80> text;
    std::snprintf(text.data(), text.size(), "%+025lld of %025llu", value,
                  static_cast<unsigned long long>(serial));
    return text.data();
}

/* `Inline`: the text is behind a pointer, so that the object may be moved as bytes. Otherwise it is a
 * std::string, which in libstdc++ may point into itself. */
template <int Which, bool Inline>
class text {
public:
    static inline std::atomic<long long> constructed{0}, destroyed{0};

    text() : text((throwing(hook::make, {}), 0LL)) {}
    explicit text(long long value) : value_(value) { begin(); }
    text(const text &other) : value_((throwing(hook::copy, {&other}), other.value_)) { begin(); }
    text(text &&other) noexcept
    {
        hooked(hook::move, {&other});
        value_ = other.value_;
        begin();
    }
    text &operator=(const text &other)
    {
        if (state_ != alive) {
            violation("assign was given an object that is " + fault());
        }
        throwing(hook::assign, {this, &other});
        set(other.value_);
        return *this;
    }
    ~text()
    {
        if (const std::string what = fault(); !what.empty()) {
            violation("drop was given an object that is " + what);
            return;
        }
        const seen before = look();
        state_ = ending;
        come_by(hook::drop);
        if (state_ != ending || serial_ != before.serial || value_ != before.value ||
            body() != before.body) {
            violation("under drop its operand changed from " + before.body);
        }
        destroyed++;
        state_ = gone;
    }

    long long get() const { return value_; }
    void set(long long value)
    {
        value_ = value;
        body() = written(value, serial_);
    }

    /* What is wrong with the object. */
    std::string fault() const
    {
        switch (state_) {
        case alive:
            if (has_body() && body() == written(value_, serial_)) {
                return {};
            }
            return "torn: " + std::to_string(value_) + " is " + (has_body() ? body() : "nothing");
        case ending:
            return "half gone: its destructor is running";
        case gone:
            return "gone: it was destroyed before";
        default:
            return "no object: its state is " + std::to_string(state_);
        }
    }

    /* A hook with operands: they are live, and stay what they are. What failed is returned. */
    static std::string hooked(hook which, std::initializer_list<const text *> operands)
    {
        std::vector<seen> before;
        for (const text *operand : operands) {
            if (const std::string what = operand->fault(); !what.empty()) {
                violation(std::string(name_of(which)) + " was given an object that is " + what);
            }
            before.push_back(operand->look());
        }
        std::string failure = come_by(which);
        auto then = before.begin();
        for (const text *operand : operands) {
            operand->compare(*then++, which);
        }
        return failure;
    }
    static void throwing(hook which, std::initializer_list<const text *> operands)
    {
        if (const std::string failure = hooked(which, operands); !failure.empty()) {
            throw std::runtime_error(failure);
        }
    }

    friend text operator+(const text &x, const text &y)
    {
        throwing(hook::add, {&x, &y});
        return text(wrapped(x) + wrapped(y), 0);
    }
    friend text operator-(const text &x, const text &y)
    {
        throwing(hook::subtract, {&x, &y});
        return text(wrapped(x) - wrapped(y), 0);
    }
    friend text operator*(const text &x, const text &y)
    {
        throwing(hook::multiply, {&x, &y});
        return text(wrapped(x) * wrapped(y), 0);
    }
    friend text operator/(const text &x, const text &y)
    {
        throwing(hook::multiply, {&x, &y});
        if (y.value_ == 0 || y.value_ == -1) {
            throw denizen::error(denizen::error_kind::zero_division, "by zero");
        }
        return text(x.value_ / y.value_);
    }
    friend text operator-(const text &x)
    {
        throwing(hook::negative, {&x});
        return text(0ULL - wrapped(x), 0);
    }
    friend bool operator<(const text &x, const text &y)
    {
        throwing(hook::compare, {&x, &y});
        return x.value_ < y.value_;
    }
    friend bool operator==(const text &x, const text &y)
    {
        throwing(hook::equal, {&x, &y});
        return x.value_ == y.value_;
    }

private:
    using body_type = std::conditional_t<Inline, std::unique_ptr<std::string>, std::string>;
    struct seen {
        std::uint64_t serial;
        long long value;
        std::string body;
        const char *place;
    };

    text(unsigned long long value, int) : text(static_cast<long long>(value)) {}
    static unsigned long long wrapped(const text &x)
    {
        return static_cast<unsigned long long>(x.value_);
    }

    void begin()
    {
        constructed++;
        serial_ = next_serial++;
        if constexpr (Inline) {
            body_ = std::make_unique<std::string>(written(value_, serial_));
        } else {
            body_ = written(value_, serial_);
        }
    }
    bool has_body() const
    {
        if constexpr (Inline) {
            return body_ != nullptr;
        } else {
            return true;
        }
    }
    const std::string &body() const { return const_cast<text *>(this)->body(); }
    std::string &body()
    {
        if constexpr (Inline) {
            return *body_;
        } else {
            return body_;
        }
    }
    seen look() const
    {
        if (!has_body()) {
            return {serial_, value_, "", nullptr};
        }
        return {serial_, value_, body(), body().data()};
    }
    void compare(const seen &before, hook which) const
    {
        if (const std::string what = fault(); !what.empty()) {
            violation(std::string("under ") + name_of(which) + " its operand became " + what);
        } else if (serial_ != before.serial || value_ != before.value || body() != before.body ||
                   body().data() != before.place) {
            violation(std::string("under ") + name_of(which) + " its operand changed from " +
                      before.body + " to " + body());
        }
    }

    /* Volatile: what a destructor writes is written. */
    volatile std::uint64_t state_ = alive;
    std::uint64_t serial_ = 0;
    long long value_ = 0;
    body_type body_;
};

template <int Which>
struct denizen::is_trivially_relocatable<text<Which, true>> : std::true_type {};
/* A live object has its state. */
template <int Which>
struct denizen::zero_bytes<text<Which, true>>
    : std::integral_constant<denizen::zero, denizen::zero::vacant> {};

#endif
