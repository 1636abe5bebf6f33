/*
 * Element types that are hard to store, out of one template: they check themselves at every use,
 * count their lives and throw where they are told to.
 */
#ifndef DENIZEN_TESTS_TYPES_SUBJECT_HPP
#define DENIZEN_TESTS_TYPES_SUBJECT_HPP

#include <denizen/denizen.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <type_traits>

/* Where an object can be told to throw. */
enum class spot {
    make, value, copy, move, assign, add, multiply, compare, equal, parse, text, cast,
    hash, truth, heap, save, load, from_python, destroy, count
};
constexpr std::size_t spots = static_cast<std::size_t>(spot::count);
inline const std::array<const char *, spots> spot_names = {
    "make", "value", "copy", "move", "assign", "add", "multiply", "compare", "equal", "parse",
    "text", "cast", "hash", "truth", "heap", "save", "load", "from_python", "destroy"};

/* How many calls a spot still survives; negative: all of them. */
inline std::array<std::atomic<long long>, spots> fuses;
/* Whether fuses throw an int instead of a std::exception. */
inline std::atomic<bool> throws_int{false};

inline void burn(spot where)
{
    std::atomic<long long> &left = fuses[static_cast<std::size_t>(where)];
    /* One thread at a time gets the last one. */
    long long now = left.load();
    while (now >= 0) {
        if (left.compare_exchange_weak(now, now - 1)) {
            if (now > 0) {
                return;
            }
            if (throws_int) {
                throw 42;
            }
            throw std::runtime_error(std::string("the fuse of ") +
                                     spot_names[static_cast<std::size_t>(where)] + " blew");
        }
    }
}

/* What `<` answers: the truth, or nonsense. */
enum class answers { truth, at_random, always, never, count };
constexpr std::size_t ways = static_cast<std::size_t>(answers::count);
inline const std::array<const char *, ways> ways_to_answer = {"well", "random", "always", "never"};
inline std::atomic<answers> less_answers{answers::truth};

inline bool nonsense()
{
    static std::atomic<std::uint32_t> state{1};
    const answers way = less_answers;
    if (way == answers::at_random) {
        const std::uint32_t next = state * 1664525U + 1013904223U;
        state = next;
        return (next >> 31) != 0;
    }
    return way == answers::always;
}

/* The lives of one type. */
struct lives {
    std::atomic<long long> constructed{0}, copied{0}, moved{0}, assigned{0}, destroyed{0};
    /* Uses of what is no object: destroyed before, moved as bytes, or at a wrong address. */
    std::atomic<long long> misused{0};
    long long live() const { return constructed + copied + moved - destroyed; }
};

/* What a subject can be; each type overrides some. */
struct plain_traits {
    static constexpr std::size_t align = alignof(void *);
    static constexpr bool points_to_itself = false;
    static constexpr bool has_default = true;
    static constexpr bool safe_end = true;
};

/* An integer in memory of its own. All operations modulo 2^64. */
template <class Traits>
class alignas(Traits::align) subject {
public:
    static inline lives counts;

    template <class X = Traits, std::enable_if_t<X::has_default, int> = 0>
    subject() : subject(0, (burn(spot::make), nullptr))
    {
        counts.constructed++;
    }
    explicit subject(long long value) : subject(value, (burn(spot::value), nullptr))
    {
        counts.constructed++;
    }
    subject(const subject &other) : subject(other.get(), (burn(spot::copy), nullptr))
    {
        counts.copied++;
    }
    /* Leaves an object that has no value: destroyed or assigned to, not read. */
    subject(subject &&other)
    {
        other.check();
        burn(spot::move);
        body_ = std::exchange(other.body_, nullptr);
        counts.moved++;
    }
    subject &operator=(const subject &other)
    {
        check();
        const long long value = other.get();
        burn(spot::assign);
        set(value);
        counts.assigned++;
        return *this;
    }
    subject &operator=(subject &&other)
    {
        check();
        other.check();
        burn(spot::assign);
        std::swap(body_, other.body_);
        counts.assigned++;
        return *this;
    }
    ~subject() noexcept(Traits::safe_end)
    {
        check_quietly();
        magic_ = dead;
        if (body_ != nullptr) {
            body_->magic = dead;
            delete body_;
        }
        counts.destroyed++;
        if constexpr (!Traits::safe_end) {
            burn(spot::destroy);
        }
    }

    long long get() const
    {
        check();
        if (body_ == nullptr) {
            fail("an object was read that had been moved from");
        }
        if (body_->magic != alive) {
            fail("the memory of an object was freed before");
        }
        return body_->value;
    }
    void set(long long value)
    {
        check();
        if (body_ == nullptr) {
            body_ = new body{alive, value};
        } else {
            body_->value = value;
        }
    }

    friend subject operator+(const subject &x, const subject &y)
    {
        burn(spot::add);
        return subject(wrap(x.get()) + wrap(y.get()), nullptr, true);
    }
    friend subject operator*(const subject &x, const subject &y)
    {
        burn(spot::multiply);
        return subject(wrap(x.get()) * wrap(y.get()), nullptr, true);
    }
    friend bool operator<(const subject &x, const subject &y)
    {
        burn(spot::compare);
        const bool less = x.get() < y.get();
        return less_answers == answers::truth ? less : nonsense();
    }
    friend bool operator==(const subject &x, const subject &y)
    {
        burn(spot::equal);
        return x.get() == y.get();
    }

private:
    static constexpr std::uint32_t alive = 0x5EEDF00D, dead = 0xDEADBEEF;
    struct body {
        std::uint32_t magic;
        long long value;
    };

    static unsigned long long wrap(long long value)
    {
        return static_cast<unsigned long long>(value);
    }
    subject(long long value, std::nullptr_t) : body_(new body{alive, value}) {}
    subject(unsigned long long value, std::nullptr_t, bool)
        : body_(new body{alive, static_cast<long long>(value)})
    {
        counts.constructed++;
    }

    [[noreturn]] static void fail(const char *what)
    {
        counts.misused++;
        throw std::logic_error(what);
    }
    const char *fault() const
    {
        if (reinterpret_cast<std::uintptr_t>(this) % Traits::align != 0) {
            return "an object is at an address that does not suit it";
        }
        if (magic_ != alive) {
            return "an object was used that is none";
        }
        if (Traits::points_to_itself && self_ != this) {
            return "an object that points to itself was moved as bytes";
        }
        return nullptr;
    }
    void check() const
    {
        if (const char *what = fault()) {
            fail(what);
        }
    }
    void check_quietly() const
    {
        if (const char *what = fault()) {
            counts.misused++;
            /* Where nobody asks any more, at the end of a process, this is seen. */
            std::fprintf(stderr, "%s\n", what);
        }
    }

    /* Volatile: what a destructor writes is written. */
    volatile std::uint32_t magic_ = alive;
    body *body_ = nullptr;
    const subject *self_ = Traits::points_to_itself ? this : nullptr;
};

template <class Traits>
struct denizen::is_trivially_relocatable<subject<Traits>>
    : std::bool_constant<!Traits::points_to_itself> {};
/* A live object has its magic number. */
template <class Traits>
struct denizen::zero_bytes<subject<Traits>>
    : std::integral_constant<denizen::zero, denizen::zero::vacant> {};

/* No member at all. */
class nothing {
public:
    static inline lives counts;
    nothing() { counts.constructed++; }
    nothing(const nothing &) { counts.copied++; }
    nothing(nothing &&) noexcept { counts.moved++; }
    nothing &operator=(const nothing &)
    {
        counts.assigned++;
        return *this;
    }
    ~nothing() { counts.destroyed++; }
    friend nothing operator+(const nothing &, const nothing &) { return nothing(); }
    friend bool operator<(const nothing &, const nothing &) { return false; }
    friend bool operator==(const nothing &, const nothing &) { return true; }
};
template <>
struct denizen::is_trivially_relocatable<nothing> : std::true_type {};

#endif
