/*
 * A type, the maker of its values, and the runs of a sequence on both.
 */
#ifndef DENIZEN_TESTING_SUBJECT_HPP
#define DENIZEN_TESTING_SUBJECT_HPP

#include <denizen/testing/model.hpp>

#include <set>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {
namespace detail {

/** What the runs need of a builder. */
struct vtable_of {
    template <class T, storage Storage>
    static denizen_element_vtable make(const element<T, Storage> &type)
    {
        denizen::detail::default_of<T> = type.default_;
        denizen_element_vtable vtable = type.make_vtable("", "");
        vtable.name = vtable.language_name = "";
        return vtable;
    }
    template <class T, storage Storage>
    static bool has_own_default(const element<T, Storage> &type) noexcept
    {
        return type.default_.make != nullptr;
    }
};

/** A type to be checked, whichever it is. */
class subject {
public:
    subject(std::string name, const char *file) : name_(std::move(name)), file_(file) {}
    subject(const subject &) = delete;
    subject &operator=(const subject &) = delete;
    virtual ~subject() = default;

    /** Runs a sequence. Throws finding. */
    void run(const std::vector<operation> &operations)
    {
        now.type = name_.c_str();
        now.file = file_;
        now.operations = operations.data();
        now.count = operations.size();
        now.step = 0;
        struct forget {
            ~forget() { now.operations = nullptr; }
        } after;
        try {
            /* What is allocated once and kept (a table, a buffer of a thread) is no leak. */
            if (attempt(operations) > 0) {
                const long blocks = attempt(operations);
                if (blocks > 0) {
                    fail(rule::leak, std::to_string(blocks) +
                                         " blocks of memory outlive all objects, each time the "
                                         "steps are run (an object may own several)" +
                                         values_of(operations));
                }
            }
        } catch (const broken_rule &broken) {
            std::string text;
            describe(out(&text), now, broken.which, broken.message.c_str());
            throw finding(broken.which, broken.message, operations, text);
        }
    }

    /** The values that steps make, to be said after the finding of a leak. */
    std::string values_of(const std::vector<operation> &operations)
    {
        constexpr std::size_t most = 3;
        std::set<std::uint32_t> numbers;
        for (const operation &step : operations) {
            const auto &n = step.numbers;
            if (step.what == op::set || step.what == op::put) {
                numbers.insert(static_cast<std::uint16_t>(n[4]));
            } else if (step.what == op::loop) {
                numbers.insert(n[4] >> 8);
            }
        }
        if (numbers.empty() || numbers.size() > most) {
            return "";
        }
        std::string text;
        for (const std::uint32_t number : numbers) {
            text += (text.empty() ? "; the steps make " : ", ") + value_name(number);
        }
        return text;
    }

    const std::string &name() const noexcept { return name_; }
    const char *file() const noexcept { return file_; }

protected:
    /** Runs a sequence on T and on fault_injected<T>; how many blocks of memory are left. */
    virtual long attempt(const std::vector<operation> &operations) = 0;
    virtual std::string value_name(std::uint32_t number) = 0;

private:
    std::string name_;
    const char *file_;
};

template <class T, storage Storage, class Make>
class subject_of : public subject {
    using stand_in = fault_injected<T>;

public:
    subject_of(element<T, Storage> type, Make make, std::string name, const char *file)
        : subject(std::move(name), file), type_(std::move(type)), make_(std::move(make)),
          fault_injected_type_("fault-injected"), vtable_(vtable_of::make(type_))
    {
        if constexpr (std::is_move_constructible_v<T> &&
                      denizen::detail::cell<T, Storage>::zero_meaning != zero::default_value) {
            if (vtable_of::has_own_default(type_)) {
                fault_injected_type_.default_with([]() -> stand_in {
                    const auto value = []() -> T {
                        denizen::detail::probe_memory<T> room;
                        denizen::detail::default_of<T>.make(denizen::detail::default_of<T>.state,
                                                            room.bytes);
                        struct destroyer {
                            T *object;
                            ~destroyer() { denizen::detail::destroy_quietly(object); }
                        } own{room.object()};
                        return T(std::move(*own.object));
                    };
                    return stand_in(value, 0);
                });
            }
        }
        fault_injected_vtable_ = vtable_of::make(fault_injected_type_);
        say_incomparable(this->name());
    }

protected:
    std::string value_name(std::uint32_t number) override
    {
        return typed_functions<T, Storage, T, Make>(make_).name(number);
    }
    long attempt(const std::vector<operation> &operations) override
    {
        const long blocks = heap.live;
        run_on<T>(vtable_, operations);
        const long alive = fault_injected_alive<T>;
        run_on<stand_in>(fault_injected_vtable_, operations);
        /* Where zero bytes are a value, objects begin and end without a constructor or destructor. */
        if (fault_injected_vtable_.zero_bytes != DENIZEN_ZERO_DEFAULT && fault_injected_alive<T> != alive) {
            fail(rule::balance, std::to_string(fault_injected_alive<T> - alive) +
                                    " more objects were built than destroyed");
        }
        return heap.live - blocks;
    }

private:
    /* Says once what is left unchecked. */
    static void say_incomparable(const std::string &name)
    {
        static bool said = false;
        if (!equality<T>::known && !std::exchange(said, true)) {
            std::fprintf(stderr,
                         "denizen: lifecheck of %s: it has no ==, so its values are not compared; its "
                         "memory and the balance are checked\n",
                         name.c_str());
        }
    }
    template <class E>
    void run_on(const denizen_element_vtable &vtable, const std::vector<operation> &operations)
    {
        typed_functions<E, Storage, T, Make> values(make_);
        model segments(vtable, values);
        struct calm {
            ~calm() { model::cancel_plans(); }
        } after;
        segments.run(operations);
    }

    element<T, Storage> type_;
    Make make_;
    element<stand_in, Storage> fault_injected_type_;
    denizen_element_vtable vtable_, fault_injected_vtable_{};
};

/** The name of a T as C++ writes it. */
template <class T>
std::string type_name()
{
    const std::string text = __PRETTY_FUNCTION__;
    const std::size_t start = text.find("T = ");
    if (start == std::string::npos) {
        return typeid(T).name();
    }
    return text.substr(start + 4, text.find_first_of(";]", start) - start - 4);
}

} // namespace detail
} // namespace testing
} // namespace denizen

#endif
