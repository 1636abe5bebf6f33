/*
 * The types of the tests of the C++ header. Those with `Live` in them count their objects.
 */
#ifndef DENIZEN_TESTS_CORE_TYPES_HPP
#define DENIZEN_TESTS_CORE_TYPES_HPP

#include <denizen/denizen.hpp>

#include <atomic>
#include <cmath>
#include <ostream>
#include <stdexcept>
#include <string>

/* Counts the objects of one kind. */
template <class Tag>
struct live_count {
    static inline std::atomic<long long> built{0}, gone{0};
    live_count() noexcept { built++; }
    live_count(const live_count &) noexcept { built++; }
    live_count &operator=(const live_count &) noexcept { return *this; }
    ~live_count() { gone++; }
    static long long live() { return built - gone; }
};

/* Throws when a countdown of operations has run out. */
struct bomb {
    static inline std::atomic<long long> left{-1};
    static void tick()
    {
        if (left >= 0 && left-- == 0) {
            throw std::runtime_error("the fuse has burnt down");
        }
    }
};

/* A number on the heap: relocatable, never zero bytes, default 0. */
class heap_number {
public:
    heap_number() : heap_number(0.0) {}
    heap_number(double value) : value_(new double(value)) { built++; }
    heap_number(const heap_number &other) : heap_number((bomb::tick(), *other.value_)) { copied++; }
    heap_number(heap_number &&other) : heap_number(0.0) { std::swap(value_, other.value_); }
    heap_number &operator=(const heap_number &other)
    {
        bomb::tick();
        *value_ = *other.value_;
        assigned++;
        return *this;
    }
    heap_number &operator=(heap_number &&other) noexcept
    {
        std::swap(value_, other.value_);
        return *this;
    }
    ~heap_number()
    {
        delete value_;
        gone++;
    }
    double get() const { return *value_; }
    void set(double value) { *value_ = value; }
    explicit operator double() const { return *value_; }

    static inline std::atomic<long long> built{0}, gone{0}, copied{0}, assigned{0};

private:
    double *value_;
};

inline heap_number operator+(const heap_number &x, const heap_number &y)
{
    bomb::tick();
    return heap_number(x.get() + y.get());
}
inline heap_number operator-(const heap_number &x, const heap_number &y)
{
    return heap_number(x.get() - y.get());
}
inline heap_number operator*(const heap_number &x, const heap_number &y)
{
    bomb::tick();
    return heap_number(x.get() * y.get());
}
inline heap_number operator/(const heap_number &x, const heap_number &y)
{
    if (y.get() == 0) {
        throw denizen::error(denizen::error_kind::zero_division, "division of a heap number by 0");
    }
    return heap_number(x.get() / y.get());
}
inline heap_number operator-(const heap_number &x) { return heap_number(-x.get()); }
inline bool operator<(const heap_number &x, const heap_number &y)
{
    bomb::tick();
    return x.get() < y.get();
}
inline bool operator==(const heap_number &x, const heap_number &y) { return x.get() == y.get(); }
inline std::ostream &operator<<(std::ostream &stream, const heap_number &x)
{
    return stream << x.get();
}

template <>
struct denizen::is_trivially_relocatable<heap_number> : std::true_type {};
template <>
struct denizen::zero_bytes<heap_number>
    : std::integral_constant<denizen::zero, denizen::zero::vacant> {};

/* A number with conversions both ways, whose text has six digits. */
struct number {
    double value = 0;
    number() = default;
    number(double v) : value(v) {}
    explicit number(const std::string &text) : value(std::stod(text)) {}
    operator double() const { return value; }
};
inline bool operator==(const number &x, const number &y) { return x.value == y.value; }
inline bool operator<(const number &x, const number &y) { return x.value < y.value; }
inline std::ostream &operator<<(std::ostream &stream, const number &x) { return stream << x.value; }
template <>
struct denizen::zero_bytes<number>
    : std::integral_constant<denizen::zero, denizen::zero::default_value> {};

/* A number whose operators return expressions. No promise: tagged. */
struct lazy_number : live_count<lazy_number> {
    double value = 1;
    lazy_number() = default;
    explicit lazy_number(double v) : value(v) {}
    template <class L, class R>
    struct sum {
        const L &left;
        const R &right;
        operator lazy_number() const { return lazy_number(left.value + right.value); }
    };
    friend sum<lazy_number, lazy_number> operator+(const lazy_number &x, const lazy_number &y)
    {
        return {x, y};
    }
};
template <>
struct denizen::is_trivially_relocatable<lazy_number> : std::true_type {};

/* Can be moved, not copied. */
struct ticket : live_count<ticket> {
    std::unique_ptr<int> number;
    ticket() : number(new int(0)) {}
    explicit ticket(int n) : number(new int(n)) {}
    ticket(ticket &&) = default;
    ticket &operator=(ticket &&) = default;
};

/* Has no default value. */
struct coordinate : live_count<coordinate> {
    explicit coordinate(int v) : value(v) {}
    int value;
};
inline bool operator==(const coordinate &x, const coordinate &y) { return x.value == y.value; }

/* Points into itself, and says so by saying nothing: boxed. */
struct anchored : live_count<anchored> {
    int value = 0;
    int *self = &value;
    anchored() = default;
    explicit anchored(int v) : value(v) {}
    anchored(const anchored &other) : live_count(other), value(other.read()) {}
    anchored &operator=(const anchored &other)
    {
        value = other.read();
        return *this;
    }
    int read() const
    {
        if (self != &value) {
            throw std::logic_error("an anchored object was moved as bytes");
        }
        return *self;
    }
};
inline anchored operator+(const anchored &x, const anchored &y)
{
    return anchored(x.read() + y.read());
}

/* Points into itself and claims that it can be moved as bytes. */
struct liar : anchored {};
template <>
struct denizen::is_trivially_relocatable<liar> : std::true_type {};

/* Claims that zero bytes are never an object, but its default value is. */
struct zero_liar {
    long value = 0;
};
template <>
struct denizen::zero_bytes<zero_liar>
    : std::integral_constant<denizen::zero, denizen::zero::vacant> {};

/* Claims that zero bytes are its default value, which is 1. */
struct default_liar {
    long value = 1;
};
inline bool operator==(const default_liar &x, const default_liar &y) { return x.value == y.value; }
template <>
struct denizen::zero_bytes<default_liar>
    : std::integral_constant<denizen::zero, denizen::zero::default_value> {};

/* Its default constructor leaves the value as it is, so zero is as good a default as any. */
struct unset {
    double value;
    unset() {}
};
inline bool operator==(const unset &x, const unset &y) { return x.value == y.value; }
template <>
struct denizen::is_trivially_relocatable<unset> : std::true_type {};
template <>
struct denizen::zero_bytes<unset>
    : std::integral_constant<denizen::zero, denizen::zero::default_value> {};

/* Needs an alignment that NumPy does not have. */
struct alignas(64) wide : live_count<wide> {
    double values[8] = {};
    wide() = default;
    explicit wide(double v) { values[0] = v; }
    bool aligned() const { return reinterpret_cast<std::uintptr_t>(this) % 64 == 0; }
};
inline wide operator+(const wide &x, const wide &y)
{
    if (!x.aligned() || !y.aligned()) {
        throw std::logic_error("an object is not aligned to 64 bytes");
    }
    return wide(x.values[0] + y.values[0]);
}

/* Never registered. */
struct stranger {};

/* Its destructor throws for the value 13. */
struct hot_potato : live_count<hot_potato> {
    int value = 0;
    hot_potato() = default;
    explicit hot_potato(int v) : value(v) {}
    hot_potato(const hot_potato &) = default;
    hot_potato &operator=(const hot_potato &) = default;
    ~hot_potato() noexcept(false)
    {
        if (value == 13) {
            value = 0;
            throw std::runtime_error("the potato was hot");
        }
    }
};

#endif
