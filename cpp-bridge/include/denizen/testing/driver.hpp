/*
 * The plain driver: a main() for any compiler, with the flags of libFuzzer. Sequences run in a child
 * process, so that one that kills it is shrunk too.
 */
#ifndef DENIZEN_TESTING_DRIVER_HPP
#define DENIZEN_TESTING_DRIVER_HPP

#include <denizen/testing/shrink.hpp>
#include <denizen/testing/subject.hpp>

#include <cinttypes>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sys/mman.h>
#include <sys/wait.h>

/* Of LeakSanitizer, where the program has it. */
extern "C" int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {
namespace detail {

/** What a child process leaves to its parent. */
struct shared_page {
    /** Sequences begun. */
    std::uint64_t runs;
    /** Sequences before this one left no memory behind that LeakSanitizer sees. */
    std::uint64_t clean;
    rule broken;
    /** It broke in one of the sequences since `clean`, and was seen later. */
    bool late;
    last_words words;
};

class driver {
public:
    driver(subject &type, int count, char **arguments) : type_(type)
    {
        for (int index = 1; index < count; index++) {
            read(arguments[index]);
        }
        void *page = mmap(nullptr, sizeof(shared_page), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) {
            std::perror("mmap");
            std::exit(2);
        }
        page_ = static_cast<shared_page *>(page);
    }
    driver(const driver &) = delete;
    driver &operator=(const driver &) = delete;
    ~driver() { munmap(page_, sizeof(shared_page)); }

    int run()
    {
        for (const std::string &file : files_) {
            const std::vector<operation> operations = read_file(file);
            if (print_) {
                for (const operation &step : operations) {
                    std::puts(rust_text(step).c_str());
                }
            } else if (const int status = report_if_broken(reduced(operations))) {
                return status;
            }
        }
        return files_.empty() ? explore() : 0;
    }

private:
    void read(const std::string &argument)
    {
        const auto number = [&](const char *flag, std::uint64_t &value) {
            const std::size_t length = std::strlen(flag);
            if (argument.compare(0, length, flag) != 0) {
                return false;
            }
            char *end = nullptr;
            value = std::strtoull(argument.c_str() + length, &end, 10);
            if (end == argument.c_str() + length || *end != '\0') {
                usage(argument);
            }
            return true;
        };
        std::uint64_t print = 0;
        if (number("-print_operations=", print)) {
            print_ = print != 0;
        } else if (number("-runs=", runs_)) {
            bounded_ = true;
        } else if (number("-max_total_time=", seconds_) || number("-seed=", seed_) ||
                   number("-max_len=", longest_)) {
        } else if (argument.compare(0, 17, "-artifact_prefix=") == 0) {
            prefix_ = argument.substr(17);
        } else if (argument.compare(0, 1, "-") == 0) {
            usage(argument);
        } else {
            files_.push_back(argument);
        }
    }
    [[noreturn]] static void usage(const std::string &argument)
    {
        std::fprintf(stderr,
                     "%s: unknown.\n"
                     "  -runs=N            sequences (10000, or no limit with -max_total_time)\n"
                     "  -max_total_time=S  seconds\n"
                     "  -seed=N            another N, other sequences (1)\n"
                     "  -max_len=N         bytes of the longest sequence, 8 a step (480)\n"
                     "  -artifact_prefix=P write the program of a finding to P" "finding.cpp\n"
                     "  -print_operations=1 FILE..  print the operations of files, and run nothing\n"
                     "  FILE..             run the sequences of these files\n",
                     argument.c_str());
        std::exit(2);
    }
    static std::vector<operation> read_file(const std::string &name)
    {
        std::ifstream stream(name, std::ios::binary);
        if (!stream) {
            std::fprintf(stderr, "%s: cannot be read\n", name.c_str());
            std::exit(2);
        }
        const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
        return sequence_of(reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size());
    }
    std::vector<operation> sequence(std::uint64_t run) const
    {
        const std::vector<std::uint8_t> bytes =
            random_bytes(seed_ + run, static_cast<std::size_t>(longest_ / 8));
        return reduced(sequence_of(bytes.data(), bytes.size()));
    }

    /* Runs `body` in a child process; what rule it broke. */
    template <class Body>
    rule child(bool silent, Body &&body)
    {
        page_->broken = rule::none;
        std::fflush(nullptr);
        const pid_t process = fork();
        if (process < 0) {
            std::perror("fork");
            std::exit(2);
        }
        if (process == 0) {
            if (silent) {
                const int nowhere = open("/dev/null", O_WRONLY);
                dup2(nowhere, 1);
                dup2(nowhere, 2);
            }
            /* The parent tells. */
            now.quiet = true;
            now.silent = silent;
            now.words = &page_->words;
            page_->words.step = SIZE_MAX;
            std::snprintf(page_->words.message, sizeof page_->words.message, "the process ended");
            watch_deaths();
            body();
            std::fflush(nullptr);
            _exit(0);
        }
        int status = 0;
        while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
        }
        if (status != 0 && page_->broken == rule::none) {
            page_->broken = rule::crash;
        }
        return page_->broken;
    }
    void leave(rule which, const std::string &message)
    {
        page_->broken = which;
        page_->words.step = now.step;
        std::snprintf(page_->words.message, sizeof page_->words.message, "%s", message.c_str());
    }
    static bool sanitizer_sees_leaks()
    {
        return __lsan_do_recoverable_leak_check != nullptr &&
               __lsan_do_recoverable_leak_check() != 0;
    }
    rule try_one(const std::vector<operation> &operations, bool silent)
    {
        return child(silent, [&] {
            try {
                type_.run(operations);
                if (sanitizer_sees_leaks()) {
                    leave(rule::leak, "memory is lost, says LeakSanitizer" +
                                          type_.values_of(operations));
                }
            } catch (const finding &found) {
                leave(found.broken(), found.message());
            }
        });
    }

    int explore()
    {
        using clock = std::chrono::steady_clock;
        const clock::time_point start = clock::now();
        const auto elapsed = [&] {
            return std::chrono::duration<double>(clock::now() - start).count();
        };
        page_->runs = page_->clean = 0;
        page_->late = false;
        rule broken = child(true, [&] {
            while ((seconds_ == 0 || elapsed() < static_cast<double>(seconds_)) &&
                   (page_->runs < runs_ || (seconds_ != 0 && !bounded_))) {
                const std::vector<operation> operations = sequence(page_->runs++);
                try {
                    type_.run(operations);
                } catch (const finding &found) {
                    leave(found.broken(), found.message());
                    return;
                }
                if (page_->runs % 1024 == 0) {
                    check_leaks();
                }
            }
            check_leaks();
        });
        std::fprintf(stderr, "denizen: lifecheck of %s: %" PRIu64 " sequences in %.1f s, seed %" PRIu64
                             ": %s\n",
                     type_.name().c_str(), page_->runs, elapsed(), seed_,
                     broken == rule::none ? "nothing found" : rule_name(broken));
        if (broken == rule::none) {
            return 0;
        }
        std::uint64_t run = page_->runs - 1;
        if (page_->late) {
            for (run = page_->clean; run < page_->runs - 1; run++) {
                if (try_one(sequence(run), true) == rule::leak) {
                    break;
                }
            }
        }
        const std::string message = page_->words.message;
        const std::vector<operation> shorter = shrink(
            sequence(run), [&](const auto &some) { return try_one(some, true) == broken; });
        if (const int status = report_if_broken(shorter)) {
            return status;
        }
        std::fprintf(stderr,
                     "It does not happen again (%s) when the sequence is run alone: -seed=%" PRIu64
                     " -runs=1 begins with it.\n",
                     message.c_str(), seed_ + run);
        return 1;
    }
    void check_leaks()
    {
        if (sanitizer_sees_leaks()) {
            leave(rule::leak, "memory is lost, says LeakSanitizer");
            page_->late = true;
            _exit(0);
        }
        page_->clean = page_->runs;
    }

    int report_if_broken(const std::vector<operation> &operations)
    {
        const rule broken = try_one(operations, false);
        if (broken == rule::none) {
            return 0;
        }
        now.type = type_.name().c_str();
        now.file = type_.file();
        now.operations = operations.data();
        now.count = operations.size();
        now.step = page_->words.step;
        std::string text;
        describe(out(&text), now, broken, page_->words.message);
        std::fputs(text.c_str(), stderr);
        if (!prefix_.empty()) {
            std::ofstream(prefix_ + "finding.cpp") << text;
            std::fprintf(stderr, "written to %sfinding.cpp\n", prefix_.c_str());
        }
        return 1;
    }

    subject &type_;
    std::uint64_t runs_ = 10000, seconds_ = 0, seed_ = 1, longest_ = 480;
    bool bounded_ = false, print_ = false;
    std::string prefix_;
    std::vector<std::string> files_;
    shared_page *page_ = nullptr;
};

} // namespace detail
} // namespace testing
} // namespace denizen

#endif
