/*
 * Types that are wrong in one way each, and the rule that each breaks.
 */
#ifndef DENIZEN_TESTS_LIFECHECK_BROKEN_HPP
#define DENIZEN_TESTS_LIFECHECK_BROKEN_HPP

#include <denizen/denizen.hpp>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace broken {

/* Owns a number on the heap, and is right. The others are changed in one place. */
struct owner {
    long *value;
    owner() : value(new long(-1)) {}
    explicit owner(long v) : value(new long(v)) {}
    owner(const owner &other) : value(new long(*other.value)) {}
    owner &operator=(const owner &other)
    {
        *value = *other.value;
        return *this;
    }
    ~owner() { delete value; }
    friend bool operator==(const owner &x, const owner &y) { return *x.value == *y.value; }
    friend std::ostream &operator<<(std::ostream &to, const owner &x)
    {
        return to << "owner of\n" << *x.value;
    }
};

/* Right too: its assignment takes a copy, which may throw, and does nothing then that throws. */
struct swaps {
    std::string value = "a default that is long enough to be on the heap";
    swaps() = default;
    explicit swaps(long v) : value("a number that is long enough for the heap: " + std::to_string(v))
    {
    }
    swaps(const swaps &) = default;
    swaps(swaps &&) = default;
    swaps &operator=(swaps other) noexcept
    {
        value.swap(other.value);
        return *this;
    }
    friend bool operator==(const swaps &x, const swaps &y) { return x.value == y.value; }
};

/* Its copies share the number: it is freed twice. */
struct shares : owner {
    using owner::owner;
    shares() = default;
    shares(const shares &other) : owner(0) { *this = other; }
    shares &operator=(const shares &other)
    {
        if (this != &other) {
            delete value;
            value = other.value;
        }
        return *this;
    }
};

/* An assignment forgets the old number. */
struct forgets : owner {
    using owner::owner;
    forgets() = default;
    forgets(const forgets &) = default;
    forgets &operator=(const forgets &other)
    {
        value = new long(*other.value);
        return *this;
    }
};

/* An assignment frees the old number before there is a new one. */
struct hasty : owner {
    using owner::owner;
    hasty() = default;
    hasty(const hasty &) = default;
    hasty &operator=(const hasty &other)
    {
        if (this != &other) {
            delete value;
            value = new long(*other.value);
        }
        return *this;
    }
};

/* A constructor that gets no second block loses the first. */
struct careless {
    long *first, *second;
    careless() : careless(0) {}
    explicit careless(long v) : first(new long(v)), second(nullptr) { second = new long(v); }
    careless(const careless &other) : first(new long(*other.first)), second(nullptr)
    {
        second = new long(*other.second);
    }
    careless &operator=(const careless &other)
    {
        *first = *other.first;
        *second = *other.second;
        return *this;
    }
    ~careless()
    {
        delete first;
        delete second;
    }
    friend bool operator==(const careless &x, const careless &y) { return *x.first == *y.first; }
};

/* A copy forgets a member. */
struct partial {
    int left = 0, right = 0;
    partial() = default;
    explicit partial(int v) : left(v), right(v) {}
    partial(const partial &other) : left(other.left) {}
    partial &operator=(const partial &) = default;
    friend bool operator==(const partial &x, const partial &y)
    {
        return x.left == y.left && x.right == y.right;
    }
};

/* An assignment takes from its source what it should copy. */
struct thief {
    mutable std::vector<int> loot;
    thief() = default;
    explicit thief(int v) : loot(3, v) {}
    thief(const thief &) = default;
    thief &operator=(const thief &other)
    {
        std::swap(loot, other.loot);
        return *this;
    }
    friend bool operator==(const thief &x, const thief &y) { return x.loot == y.loot; }
};

/* Points into itself, and says that it can be moved as bytes. */
struct anchored {
    int value = 0;
    int *self = &value;
    anchored() = default;
    explicit anchored(int v) : value(v) {}
    anchored(const anchored &other) : value(*other.self) {}
    anchored &operator=(const anchored &other)
    {
        *self = *other.self;
        return *this;
    }
    friend bool operator==(const anchored &x, const anchored &y) { return *x.self == *y.self; }
};

/* Is known by its address elsewhere, and says that it can be moved as bytes. */
struct registered {
    static std::set<const registered *> &all()
    {
        static auto *known = new std::set<const registered *>;
        return *known;
    }
    int value = 7;
    registered() { all().insert(this); }
    explicit registered(int v) : value(v) { all().insert(this); }
    registered(const registered &other) : value(other.value) { all().insert(this); }
    registered &operator=(const registered &) = default;
    ~registered()
    {
        if (all().erase(this) == 0) {
            std::abort();
        }
    }
};

/* Says that it is never all zero, and is for the value 0. */
struct zero_liar {
    long value = 1;
    friend bool operator==(const zero_liar &x, const zero_liar &y) { return x.value == y.value; }
};

/* Says that its second half is never zero: it is the other one. */
struct half_liar {
    std::unique_ptr<long> first = std::make_unique<long>(1);
    long second = 1;
    half_liar() = default;
    explicit half_liar(long v) : first(std::make_unique<long>(v)), second(v) {}
};

/* Says that zero bytes are its default value, which is 1. */
struct default_liar {
    long value = 1;
    friend bool operator==(const default_liar &x, const default_liar &y)
    {
        return x.value == y.value;
    }
};

/* Its move says that it throws nothing, and needs memory. */
struct moves_loudly {
    std::unique_ptr<long> value = std::make_unique<long>(0);
    moves_loudly() = default;
    explicit moves_loudly(long v) : value(std::make_unique<long>(v)) {}
    moves_loudly(const moves_loudly &other) : value(std::make_unique<long>(*other.value)) {}
    moves_loudly(moves_loudly &&other) noexcept : value(std::make_unique<long>(*other.value)) {}
    moves_loudly &operator=(const moves_loudly &other)
    {
        *value = *other.value;
        return *this;
    }
};

/* Writes one number too many. */
struct overflows {
    int values[4] = {};
    overflows() = default;
    explicit overflows(int v)
    {
        int *volatile last = values + 4;
        std::memset(values, v, sizeof values);
        *last = v;
    }
};

/* A destructor that may throw frees nothing when it does. */
struct quits {
    long *value = new long(0);
    quits() = default;
    explicit quits(long v) : value(new long(v)) {}
    quits(const quits &other) : value(new long(*other.value)) {}
    quits &operator=(const quits &other)
    {
        *value = *other.value;
        return *this;
    }
    ~quits() noexcept(false)
    {
        if (*value % 8 == 3) {
            throw 3;
        }
        delete value;
    }
};

/* Frees with free() what it has from malloc(), but not after an assignment: only LeakSanitizer sees it. */
struct plain_c {
    char *text = strdup("nothing");
    plain_c() = default;
    explicit plain_c(const std::string &t) : text(strdup(t.c_str())) {}
    plain_c(const plain_c &other) : text(strdup(other.text)) {}
    plain_c &operator=(const plain_c &other)
    {
        text = strdup(other.text);
        return *this;
    }
    ~plain_c() { std::free(text); }
};

} // namespace broken

#define DENIZEN_TEST_RELOCATES(T)                                                                \
    template <>                                                                                  \
    struct denizen::is_trivially_relocatable<broken::T> : std::true_type {};
#define DENIZEN_TEST_ZERO(T, promise)                                                            \
    template <>                                                                                  \
    struct denizen::zero_bytes<broken::T>                                                        \
        : std::integral_constant<denizen::zero, denizen::zero::promise> {};

DENIZEN_TEST_RELOCATES(shares)
DENIZEN_TEST_ZERO(shares, vacant)
DENIZEN_TEST_RELOCATES(forgets)
DENIZEN_TEST_RELOCATES(hasty)
DENIZEN_TEST_RELOCATES(partial)
DENIZEN_TEST_RELOCATES(thief)
DENIZEN_TEST_RELOCATES(anchored)
DENIZEN_TEST_RELOCATES(registered)
DENIZEN_TEST_ZERO(zero_liar, vacant)
DENIZEN_TEST_RELOCATES(half_liar)
template <>
struct denizen::zero_bytes<broken::half_liar> : denizen::never_zero<sizeof(long), sizeof(long)> {};
DENIZEN_TEST_ZERO(default_liar, default_value)
DENIZEN_TEST_RELOCATES(overflows)

#endif
