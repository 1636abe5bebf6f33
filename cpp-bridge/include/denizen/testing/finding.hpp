/*
 * What a lifecheck finds, and how it says so, also where the process ends.
 */
#ifndef DENIZEN_TESTING_FINDING_HPP
#define DENIZEN_TESTING_FINDING_HPP

#include <denizen/testing/operation.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <unistd.h>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {

/** The rule that a type, or what it promises, breaks. */
enum class rule : std::uint8_t {
    none,
    /** `is_trivially_relocatable` */
    relocatable,
    /** `zero_bytes`: `zero::vacant` or `never_zero` */
    zero_is_vacant,
    /** `zero_bytes`: `zero::default_value` */
    zero_is_default,
    /** A value is what was written, until somebody writes again. */
    value,
    /** What fails changes nothing but the element at which it fails. */
    failure,
    /** Everything built is destroyed: heap memory. */
    leak,
    /** Everything built is destroyed: objects. */
    balance,
    /** Nothing is freed twice, or in another way than it was made. */
    freed_once,
    /** Nothing is written outside of an object. */
    bounds,
    /** The functions of the vtable keep their contract. */
    contract,
    /** A signal, a sanitizer, or std::terminate ended the process. */
    crash
};

inline const char *rule_name(rule which)
{
    static const char *const names[] = {
        "none", "relocatable", "zero-is-vacant", "zero-is-default", "value", "failure", "leak",
        "balance", "freed-once", "bounds", "contract", "crash"};
    return names[static_cast<std::size_t>(which)];
}

/** A sequence of operations that a type does not survive. `what()` is all that there is to say, with
 * the program that shows it again. */
class finding : public std::runtime_error {
public:
    finding(rule which, std::string message, std::vector<operation> operations,
            const std::string &text)
        : std::runtime_error(text), rule_(which), message_(std::move(message)),
          operations_(std::move(operations))
    {
    }
    rule broken() const noexcept { return rule_; }
    const std::string &message() const noexcept { return message_; }
    const std::vector<operation> &operations() const noexcept { return operations_; }

private:
    rule rule_;
    std::string message_;
    std::vector<operation> operations_;
};

namespace detail {

/** Thrown inside a run. */
struct broken_rule {
    rule which;
    std::string message;
};

[[noreturn]] inline void fail(rule which, std::string message)
{
    throw broken_rule{which, std::move(message)};
}

/** What is left of a process that dies. */
struct last_words {
    std::size_t step;
    char message[1024];
};

/** What is run at present, for whoever must tell while the process dies. */
struct running {
    const char *type = nullptr;
    /** The source file with the DENIZEN_LIFECHECK, or NULL: a test calls lifecheck(). */
    const char *file = nullptr;
    const operation *operations = nullptr;
    std::size_t count = 0;
    /** The step at work. */
    std::size_t step = 0;
    /** Where the reason of the process's death is left, or NULL. */
    last_words *words = nullptr;
    /** Another process tells. */
    bool quiet = false;
    /** That this process dies is all that anybody wants to know. */
    bool silent = false;
    bool told = false;
};

inline running now;

/* Text as it is written: into a string, or with write(2) where the process is dying. */
class out {
public:
    explicit out(std::string *text) noexcept : text_(text) {}
    out &operator<<(const char *piece) noexcept
    {
        if (text_ != nullptr) {
            text_->append(piece);
        } else {
            const char *at = piece;
            for (std::size_t left = std::strlen(piece); left > 0;) {
                const ssize_t written = ::write(2, at, left);
                if (written <= 0) {
                    break;
                }
                at += written;
                left -= static_cast<std::size_t>(written);
            }
        }
        return *this;
    }
    out &operator<<(std::size_t number) noexcept
    {
        char digits[24];
        std::snprintf(digits, sizeof digits, "%zu", number);
        return *this << static_cast<const char *>(digits);
    }

private:
    std::string *text_;
};

/* The same without std::string: a dying process allocates nothing. */
inline void put_operation(out &to, const operation &step)
{
    const operation_shape &shape = shape_of(step.what);
    to << "{op::" << shape.name << ", {";
    for (std::size_t index = 0; index < 5 && shape.fields[index] != nullptr; index++) {
        to << (index == 0 ? "" : ", ") << static_cast<std::size_t>(step.numbers[index]);
    }
    to << "}}, // ";
    for (std::size_t index = 0; index < 5 && shape.fields[index] != nullptr; index++) {
        to << (index == 0 ? "" : ", ") << shape.fields[index];
    }
    to << "\n";
}

/** The finding and the program that shows it again. */
inline void describe(out to, const running &run, rule which, const char *message)
{
    const std::size_t count = run.count == 0 ? 0 : std::min(run.step + 1, run.count);
    to << "// denizen: lifecheck of " << run.type << ": " << rule_name(which) << ": " << message
       << "\n// in step " << count << " of " << count;
    if (count > 0) {
        to << ", " << shape_of(run.operations[count - 1].what).name;
    }
    if (run.step >= run.count) {
        to << ", or when all is freed after it";
    }
    if (run.file != nullptr) {
        const char *slash = std::strrchr(run.file, '/');
        to << ". This program shows it again. Save it as finding.cpp, and\n// build it with the command "
              "that built the lifecheck, finding.cpp in place of "
           << (slash != nullptr ? slash + 1 : run.file)
           << " (CMake:\n// denizen_add_lifecheck(finding finding.cpp)):\n"
              "#define DENIZEN_LIFECHECK_REPLAY\n#include \""
           << run.file << "\"\n\nDENIZEN_LIFECHECK_FINDING(\n";
    } else {
        to << ". This shows it again, where the values are made so:\n";
        to << "    using denizen::testing::op;\n    denizen::testing::replay<"
           << run.type << ">(make, {\n";
    }
    for (std::size_t index = 0; index < count; index++) {
        to << (run.file != nullptr ? "    " : "        ");
        put_operation(to, run.operations[index]);
    }
    to << (run.file != nullptr ? ")\n" : "    });\n");
}

/** Tells what was run when the process ends for a reason outside of our control. */
inline void tell_death(const char *reason) noexcept
{
    if (now.told || now.operations == nullptr) {
        return;
    }
    now.told = true;
    if (now.words != nullptr) {
        now.words->step = now.step;
        std::snprintf(now.words->message, sizeof now.words->message, "%s", reason);
    }
    if (now.silent) {
        /* Before a sanitizer looks up the names of its stacks, which takes long. */
        _exit(99);
    }
    if (!now.quiet) {
        describe(out(nullptr), now, rule::crash, reason);
    }
}

inline std::array<struct sigaction, 64> old_actions;

inline void on_signal(int number, siginfo_t *information, void *context)
{
    char reason[64];
    std::snprintf(reason, sizeof reason, "signal %d (%s)", number,
                  number == SIGABRT ? "SIGABRT" : number == SIGSEGV ? "SIGSEGV"
                                              : number == SIGBUS    ? "SIGBUS"
                                              : number == SIGFPE    ? "SIGFPE"
                                                                    : "SIGILL");
    tell_death(reason);
    const struct sigaction &old = old_actions[static_cast<std::size_t>(number)];
    if ((old.sa_flags & SA_SIGINFO) != 0 && old.sa_sigaction != nullptr) {
        /* A sanitizer's, or libFuzzer's. */
        old.sa_sigaction(number, information, context);
        return;
    }
    sigaction(number, &old, nullptr);
    raise(number);
}

inline std::terminate_handler old_terminate = nullptr;

[[noreturn]] inline void on_terminate()
{
    tell_death("std::terminate: an exception left a function that promises not to throw");
    if (old_terminate != nullptr) {
        /* The one of libstdc++ says what was thrown. */
        old_terminate();
    }
    std::abort();
}

/** Has the end of the process tell what was run. Once, after the sanitizers and libFuzzer have set up
 * their own. */
inline void watch_deaths()
{
    static const bool once = [] {
        static char stack[1 << 16];
        stack_t alternative{};
        if (sigaltstack(nullptr, &alternative) == 0 && (alternative.ss_flags & SS_DISABLE) != 0) {
            alternative = {};
            alternative.ss_sp = stack;
            alternative.ss_size = sizeof stack;
            sigaltstack(&alternative, nullptr);
        }
        struct sigaction action{};
        action.sa_sigaction = on_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
            sigaction(number, &action, &old_actions[static_cast<std::size_t>(number)]);
        }
        old_terminate = std::set_terminate(on_terminate);
        return true;
    }();
    (void)once;
}

} // namespace detail
} // namespace testing
} // namespace denizen

#endif
