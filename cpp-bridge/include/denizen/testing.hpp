/*
 * denizen/testing.hpp: does a C++ type survive as an element? Header only; C++17; no Python runs.
 *
 * A lifecheck drives the functions that denizen::element<T> generates through random sequences of
 * what happens to elements of arrays (allocate, resize, construct, copy, assign, move, permute as bytes,
 * destroy, free), with allocations that fail and exceptions that are thrown, and compares every cell
 * with what was written to it. It finds false promises, copies that share what they own, leaks,
 * assignments that lose their value when they throw, memory that is freed twice. In one file:
 *
 *     #include "my_type.hpp"          // the type, and its promises to denizen
 *     #include <denizen/testing.hpp>
 *
 *     DENIZEN_LIFECHECK(MyType, [](denizen::testing::input &in) {
 *         return MyType(in.integer<int>());
 *     })
 *
 * That is a program: with any compiler one that makes its own random sequences, with clang and
 * `-fsanitize=fuzzer -DDENIZEN_LIFECHECK_FUZZER` one that libFuzzer leads. Both take the flags
 * -runs=N, -max_total_time=SECONDS, -seed=N, -max_len=BYTES, and files to run again. What is found is
 * printed as a C++ program that shows it again. docs/testing-your-type.md has more.
 */
#ifndef DENIZEN_TESTING_HPP
#define DENIZEN_TESTING_HPP

#if __cplusplus < 201703L
#error "denizen needs C++17: compile with -std=c++17 or a later one"
#else

#include <denizen/testing/without_python.hpp>

#include <denizen/testing/driver.hpp>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {

/** How long a lifecheck in a test looks. */
struct options {
    /** Random sequences. */
    std::size_t runs = 1000;
    /** Steps of the longest one. */
    std::size_t steps = 60;
    /** The first one; others follow from it. */
    std::uint64_t seed = 1;
};

namespace detail {

inline void check_some(subject &type, const options &how)
{
    for (std::size_t run = 0; run < how.runs; run++) {
        const std::vector<std::uint8_t> bytes = random_bytes(how.seed + run, how.steps);
        const std::vector<operation> operations =
            reduced(sequence_of(bytes.data(), bytes.size()));
        rule broken = rule::none;
        try {
            type.run(operations);
        } catch (const finding &found) {
            broken = found.broken();
        }
        if (broken != rule::none) {
            type.run(shrink(operations, [&](const std::vector<operation> &some) {
                try {
                    type.run(some);
                    return false;
                } catch (const finding &found) {
                    return found.broken() == broken;
                }
            }));
        }
    }
}

} // namespace detail

/**
 * Checks T in a test of any framework: runs random sequences on the element type that `type`
 * describes, with values from `make(denizen::testing::input &)`.
 *
 * Throws finding, whose text is what was found and the steps to it, for `replay`. What ends the
 * process (a signal, a sanitizer, std::terminate) prints the same to standard error.
 */
template <class T, storage Storage, class Make>
void lifecheck(const element<T, Storage> &type, Make make, const options &how = options())
{
    detail::subject_of<T, Storage, Make> subject(type, std::move(make), detail::type_name<T>(),
                                                 nullptr);
    detail::watch_deaths();
    detail::check_some(subject, how);
}

/** The same for a T with the storage that its promises choose. */
template <class T, class Make>
void lifecheck(Make make, const options &how = options())
{
    lifecheck(element<T>("T"), std::move(make), how);
}

/** Runs the steps of a finding again. Throws finding. */
template <class T, storage Storage, class Make>
void replay(const element<T, Storage> &type, Make make, const std::vector<operation> &operations)
{
    detail::subject_of<T, Storage, Make> subject(type, std::move(make), detail::type_name<T>(),
                                                 nullptr);
    detail::watch_deaths();
    subject.run(operations);
}

template <class T, class Make>
void replay(Make make, const std::vector<operation> &operations)
{
    replay(element<T>("T"), std::move(make), operations);
}

namespace detail {

template <class T, storage Storage, class Make>
std::unique_ptr<subject> subject_for(const element<T, Storage> &type, Make make, const char *file)
{
    char *whole = realpath(file, nullptr);
    static const std::string path = whole != nullptr ? whole : file;
    std::free(whole);
    return std::make_unique<subject_of<T, Storage, Make>>(type, std::move(make), type_name<T>(),
                                                          path.c_str());
}

inline int replay_loudly(subject &type, const std::vector<operation> &operations)
{
    watch_deaths();
    try {
        type.run(operations);
    } catch (const finding &found) {
        std::fputs(found.what(), stderr);
        return 1;
    }
    if (__lsan_do_recoverable_leak_check != nullptr && __lsan_do_recoverable_leak_check() != 0) {
        return 1;
    }
    std::fputs("nothing found\n", stderr);
    return 0;
}

inline void fuzz_one(subject &type, const std::uint8_t *bytes, std::size_t size)
{
    watch_deaths();
    try {
        type.run(reduced(sequence_of(bytes, size)));
    } catch (const finding &found) {
        now.told = true;
        /* libFuzzer, which keeps the bytes when the process aborts, prints its stacks then: in a
         * process of its own, so that the finding comes last. */
        std::fflush(nullptr);
        const pid_t process = fork();
        if (process > 0) {
            int status = 0;
            while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
            }
            std::fputs(found.what(), stderr);
            std::fflush(nullptr);
            _exit(WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 77);
        }
        if (process < 0) {
            std::fputs(found.what(), stderr);
        }
        std::abort();
    }
}

} // namespace detail
} // namespace testing
} // namespace denizen

#if defined(DENIZEN_LIFECHECK_REPLAY)
#define DENIZEN_LIFECHECK_ENTRY                                                                  \
    int denizen_lifecheck_replay(const std::vector<denizen::testing::operation> &operations)     \
    {                                                                                            \
        const auto type = denizen_lifecheck_subject();                                           \
        return denizen::testing::detail::replay_loudly(*type, operations);                       \
    }
/** The program of a finding: libFuzzer brings a main of its own, and must not begin. */
#if defined(DENIZEN_LIFECHECK_FUZZER)
#define DENIZEN_LIFECHECK_FINDING(...)                                                           \
    extern "C" int LLVMFuzzerInitialize(int *, char ***)                                         \
    {                                                                                            \
        using denizen::testing::op;                                                              \
        std::exit(denizen_lifecheck_replay({__VA_ARGS__}));                                      \
    }                                                                                            \
    extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *, std::size_t) { return 0; }
#else
#define DENIZEN_LIFECHECK_FINDING(...)                                                           \
    int main()                                                                                   \
    {                                                                                            \
        using denizen::testing::op;                                                              \
        return denizen_lifecheck_replay({__VA_ARGS__});                                          \
    }
#endif
#elif defined(DENIZEN_LIFECHECK_FUZZER)
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *bytes, std::size_t size, std::size_t most);
#define DENIZEN_LIFECHECK_ENTRY                                                                  \
    extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size)           \
    {                                                                                            \
        static const auto type = denizen_lifecheck_subject();                                    \
        denizen::testing::detail::fuzz_one(*type, bytes, size);                                  \
        return 0;                                                                                \
    }                                                                                            \
    extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *bytes, std::size_t size,        \
                                                   std::size_t most, unsigned seed)              \
    {                                                                                            \
        return seed % 2 == 0                                                                     \
                   ? LLVMFuzzerMutate(bytes, size, most)                                         \
                   : denizen::testing::detail::mutate_steps(bytes, size, most, seed / 2);        \
    }
#else
#define DENIZEN_LIFECHECK_ENTRY                                                                  \
    int main(int count, char **arguments)                                                        \
    {                                                                                            \
        const auto type = denizen_lifecheck_subject();                                           \
        return denizen::testing::detail::driver(*type, count, arguments).run();                  \
    }
#endif

/** Has reports of sanitizers say which steps led to them. In one source file. */
#define DENIZEN_LIFECHECK_REPORTS                                                                \
    extern "C" void __asan_on_error()                                                            \
    {                                                                                            \
        denizen::testing::detail::tell_death("AddressSanitizer");                                \
    }                                                                                            \
    extern "C" void __ubsan_on_report()                                                          \
    {                                                                                            \
        denizen::testing::detail::tell_death("UndefinedBehaviorSanitizer");                      \
    }

/**
 * The whole program of a lifecheck, once in a source file: of an element type as its builder
 * describes it (`denizen::element<T>("T").storage<..>().default_with(..)`), with values from
 * `make(denizen::testing::input &)`. It brings operator new and delete of its own, unless
 * DENIZEN_LIFECHECK_KEEP_NEW is defined.
 */
#define DENIZEN_LIFECHECK_AS(builder, ...)                                                       \
    DENIZEN_LIFECHECK_OWN_MEMORY                                                                 \
    DENIZEN_LIFECHECK_REPORTS                                                                    \
    static std::unique_ptr<denizen::testing::detail::subject> denizen_lifecheck_subject()        \
    {                                                                                            \
        return denizen::testing::detail::subject_for(builder, __VA_ARGS__, __FILE__);            \
    }                                                                                            \
    DENIZEN_LIFECHECK_ENTRY

/** The same for a T with the storage that its promises choose. */
#define DENIZEN_LIFECHECK(T, ...) DENIZEN_LIFECHECK_AS(denizen::element<T>("T"), __VA_ARGS__)

#if defined(DENIZEN_LIFECHECK_KEEP_NEW)
#define DENIZEN_LIFECHECK_OWN_MEMORY
#else
#define DENIZEN_LIFECHECK_OWN_MEMORY DENIZEN_LIFECHECK_MEMORY
#endif

#endif
#endif
