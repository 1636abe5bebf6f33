/*
 * Types that a lifecheck finds nothing in, in a program of tests: every storage, what only moves,
 * what throws, what has no default, what points into itself, what needs more alignment than NumPy has.
 */
#include "../core/types.hpp"
#include "../types/subject.hpp"
#include "broken.hpp"

#include <denizen/testing.hpp>

#include <array>
#include <memory>
#include <string>
#include <vector>

DENIZEN_LIFECHECK_MEMORY

namespace {

using denizen::storage;
using denizen::testing::input;
using denizen::testing::lifecheck;

struct no_default : plain_traits {
    static constexpr bool has_default = false;
};
struct self_pointing : plain_traits {
    static constexpr bool points_to_itself = true;
};
struct over_aligned : plain_traits {
    static constexpr std::size_t align = 256;
};
struct bad_destructor : plain_traits {
    static constexpr bool safe_end = false;
};

/* Throws at every third copy, by itself. */
struct moody {
    static inline unsigned copies = 0;
    int value = 1;
    moody() = default;
    explicit moody(int v) : value(v) {}
    moody(const moody &other) : value(other.value) { sigh(); }
    moody &operator=(const moody &other)
    {
        sigh();
        value = other.value;
        return *this;
    }
    static void sigh()
    {
        if (++copies % 3 == 0) {
            throw 3;
        }
    }
    friend bool operator==(const moody &x, const moody &y) { return x.value == y.value; }
};

/* Can be neither copied, moved nor assigned: boxed, as it says nothing. */
struct rock {
    std::string value = "a default that is long enough to be on the heap";
    rock() = default;
    explicit rock(std::string text) : value(std::move(text)) {}
    rock(const rock &) = delete;
    rock &operator=(const rock &) = delete;
    friend bool operator==(const rock &x, const rock &y) { return x.value == y.value; }
};

/* Cannot be assigned. */
struct constant {
    const std::vector<int> value;
    constant() : value{1, 2, 3} {}
    explicit constant(int v) : value{v} {}
    friend bool operator==(const constant &x, const constant &y) { return x.value == y.value; }
};
} // namespace
template <>
struct denizen::is_trivially_relocatable<constant> : std::true_type {};
namespace {

/* The stand-in of a type promises what the type does, no less and no more. */
template <class T, class FaultInjected = denizen::testing::fault_injected<T>>
constexpr bool promises_the_same =
    std::is_nothrow_default_constructible_v<T> == std::is_nothrow_default_constructible_v<FaultInjected> &&
    std::is_copy_constructible_v<T> == std::is_copy_constructible_v<FaultInjected> &&
    std::is_nothrow_copy_constructible_v<T> == std::is_nothrow_copy_constructible_v<FaultInjected> &&
    std::is_move_constructible_v<T> == std::is_move_constructible_v<FaultInjected> &&
    std::is_nothrow_move_constructible_v<T> == std::is_nothrow_move_constructible_v<FaultInjected> &&
    std::is_copy_assignable_v<T> == std::is_copy_assignable_v<FaultInjected> &&
    std::is_nothrow_copy_assignable_v<T> == std::is_nothrow_copy_assignable_v<FaultInjected> &&
    std::is_move_assignable_v<T> == std::is_move_assignable_v<FaultInjected> &&
    std::is_nothrow_move_assignable_v<T> == std::is_nothrow_move_assignable_v<FaultInjected> &&
    std::is_swappable_v<T> == std::is_swappable_v<FaultInjected> &&
    std::is_nothrow_swappable_v<T> == std::is_nothrow_swappable_v<FaultInjected> &&
    std::is_nothrow_destructible_v<T> == std::is_nothrow_destructible_v<FaultInjected>;
template <class... Types>
constexpr bool all_promise_the_same = (promises_the_same<Types> && ...);
static_assert(all_promise_the_same<double, std::string, std::vector<double>,
                                   std::shared_ptr<std::string>, std::unique_ptr<std::string>,
                                   moody, rock, constant, broken::owner, broken::swaps,
                                   broken::moves_loudly, broken::quits>);
/* And the struct interpose the value, which the stand-in is made of, no more than the value. */
template <class T, class Held = denizen::testing::detail::held<T>>
constexpr bool held_promises_the_same =
    std::is_nothrow_copy_assignable_v<T> == std::is_nothrow_copy_assignable_v<Held> &&
    std::is_nothrow_move_assignable_v<T> == std::is_nothrow_move_assignable_v<Held>;
static_assert(held_promises_the_same<broken::swaps> && held_promises_the_same<std::string>);

/* Its moves throw, among others. */
template <class Traits>
subject<Traits> make_subject(input &in)
{
    return subject<Traits>(in.integer<long long>());
}

/* Counts, and cannot be compared: then nothing is built to compare with. */
struct counted {
    static inline std::array<long, 3> counts{};
    int value = 0;
    counted() { counts[0]++; }
    explicit counted(int v) : value(v) { counts[0]++; }
    counted(const counted &other) : value(other.value) { counts[1]++; }
    counted &operator=(const counted &other)
    {
        value = other.value;
        counts[2]++;
        return *this;
    }
};

/* A sequence does the same in the numbers that it means. */
bool smaller_numbers_do_the_same()
{
    namespace detail = denizen::testing::detail;
    const auto type = detail::subject_for(
        denizen::element<counted>("T"), [](input &in) { return counted(in.integer<int>()); },
        __FILE__);
    const auto counts_of = [&](const std::vector<denizen::testing::operation> &operations) {
        counted::counts = {};
        type->run(operations);
        return counted::counts;
    };
    long total = 0;
    std::uint64_t state = 1;
    for (int round = 0; round < 200; round++) {
        std::vector<std::uint8_t> bytes(8 * 24);
        for (std::uint8_t &byte : bytes) {
            state = state * 6364136223846793005 + 1442695040888963407;
            byte = static_cast<std::uint8_t>(state >> 56);
        }
        const auto whole = denizen::testing::sequence_of(bytes.data(), bytes.size());
        const auto smaller = detail::reduced(whole), again = detail::reduced(smaller);
        for (std::size_t index = 0; index < whole.size(); index++) {
            if (smaller[index].numbers != again[index].numbers) {
                return false;
            }
        }
        const auto counts = counts_of(smaller);
        if (counts != counts_of(whole)) {
            return false;
        }
        total += counts[0] + counts[1] + counts[2];
    }
    return total > 5000;
}

template <class T, class Make>
void run(const char *name, Make make)
{
    std::printf("%s\n", name);
    lifecheck<T>(make, {400, 40, 7});
}

} // namespace

int main()
{
    const auto text = [](input &in) { return in.text(); };
    const auto numbers = [](input &in) {
        return std::vector<double>(in.integer<std::size_t>(0, 9), in.real());
    };
    try {
        run<double>("double", [](input &in) { return in.real(); });
        run<std::string>("string", text);
        run<std::vector<double>>("vector", numbers);
        run<std::shared_ptr<std::string>>("shared_ptr", [&](input &in) {
            return in.boolean() ? std::make_shared<std::string>(text(in)) : nullptr;
        });
        run<std::unique_ptr<std::string>>("unique_ptr", [&](input &in) {
            return in.boolean() ? std::make_unique<std::string>(text(in)) : nullptr;
        });
        run<lazy_number>("tagged", [](input &in) { return lazy_number(in.real()); });
        run<moody>("throws by itself", [](input &in) { return moody(in.integer<int>()); });
        run<rock>("immovable", [](input &in) { return rock(in.text()); });
        run<constant>("not assignable", [](input &in) { return constant(in.integer<int>()); });
        run<broken::swaps>("copy and swap", [](input &in) {
            return broken::swaps(in.integer<long>());
        });
        run<subject<plain_traits>>("subject", make_subject<plain_traits>);
        run<subject<no_default>>("no default", make_subject<no_default>);
        run<subject<self_pointing>>("self pointing", make_subject<self_pointing>);
        run<subject<over_aligned>>("over aligned", make_subject<over_aligned>);
        run<subject<bad_destructor>>("loud destructor", make_subject<bad_destructor>);
        lifecheck(denizen::element<subject<plain_traits>>("Boxed").storage<storage::boxed>(),
                  make_subject<plain_traits>, {400, 40, 7});
        lifecheck(denizen::element<subject<plain_traits>>("Tagged").storage<storage::tagged>(),
                  make_subject<plain_traits>, {400, 40, 7});
        lifecheck(denizen::element<coordinate>("Default").default_with([] {
            return coordinate(12);
        }),
                  [](input &in) { return coordinate(in.integer<int>()); }, {400, 40, 7});
    } catch (const denizen::testing::finding &found) {
        std::printf("%s", found.what());
        return 1;
    }
    if (!smaller_numbers_do_the_same()) {
        std::printf("smaller numbers mean something else\n");
        return 1;
    }
    /* What is found is thrown, and can be run again. */
    const auto thief = [](input &in) { return broken::thief(in.integer<int>()); };
    try {
        lifecheck<broken::thief>(thief);
        std::printf("the thief was not found\n");
        return 1;
    } catch (const denizen::testing::finding &found) {
        try {
            denizen::testing::replay<broken::thief>(thief, found.operations());
            std::printf("the thief was not found again\n");
            return 1;
        } catch (const denizen::testing::finding &again) {
            if (again.broken() != found.broken() || found.operations().size() > 6) {
                return 1;
            }
        }
        std::printf("%s", found.what());
    }
    if (subject<plain_traits>::counts.live() != 0 || subject<plain_traits>::counts.misused != 0 ||
        subject<over_aligned>::counts.misused != 0 || subject<self_pointing>::counts.misused != 0) {
        std::printf("a subject counted %lld live\n", subject<plain_traits>::counts.live());
        return 1;
    }
    std::printf("all right\n");
    return 0;
}
