/*
 * What a run needs of a type beside its vtable: values, and the loops that element<T> makes of
 * callables. The model knows it by an interface only, so that it is compiled once.
 */
#ifndef DENIZEN_TESTING_VALUES_HPP
#define DENIZEN_TESTING_VALUES_HPP

#include <denizen/testing/cells.hpp>
#include <denizen/testing/equality.hpp>
#include <denizen/testing/input.hpp>

#include <denizen/denizen.hpp>

#include <map>
#include <memory>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {
namespace detail {

/** The number of the value that vacant cells read as. */
constexpr std::uint32_t default_number = 0x10000;

/** A type to the model. */
class value_functions {
public:
    value_functions() = default;
    value_functions(const value_functions &) = delete;
    value_functions &operator=(const value_functions &) = delete;
    virtual ~value_functions() = default;

    /** Its destructor promises not to throw. */
    bool ends_quietly = true;
    /** It throws where it is told to. */
    bool is_fault_injected = false;
    /** Objects can be copied by a loop. */
    bool computes = false;

    /** Whether the object of a cell differs from the value of a number, as far as anybody can tell. */
    virtual bool differs(const std::uint8_t *at, std::uint32_t number) = 0;
    /** Whether the object of a cell, which is moved as bytes, points into itself. */
    virtual bool points_into_itself(const std::uint8_t *at) const = 0;
    /** Builds a value in a vacant cell. */
    virtual outcome build(std::uint8_t *at, std::uint32_t number) = 0;
    /** Writes a value into a cell in any state as loops do it; `moved`: from another object. `made`
     * says whether there was a value when it failed. */
    virtual outcome put(std::uint8_t *at, std::uint32_t number, bool moved, bool &made) = 0;
    /** A loop of a callable that returns a value, or writes it, over cells that are input and
     * output. */
    virtual outcome loop(run_of_cells cells, std::uint32_t number, bool writes) = 0;
    /** A loop of two inputs whose callable returns the first; the second is the output too. */
    virtual outcome compute(run_of_cells to, run_of_cells from) = 0;
    /** A value as the type writes it, on one line; "" where it does not or the value differs from
     * itself. */
    virtual std::string text(std::uint32_t number) = 0;

    /** A value for whoever reads a finding. */
    std::string name(std::uint32_t number)
    {
        const std::string shown = text(number);
        return "value number " + std::to_string(number) +
               (shown.empty() ? "" : " (" + shown + ")");
    }
};

/** Makes the values of an element type E: T, or fault_injected<T>. */
template <class E, class T, class Make>
class maker {
public:
    explicit maker(Make &make) : make_(make) {}

    /** The value of a number, without a copy or a move of it. */
    E operator()(std::uint32_t number) const
    {
        const auto value = [&]() -> T {
            input in(static_cast<std::uint16_t>(number));
            return make_(in);
        };
        if constexpr (std::is_same_v<E, T>) {
            return value();
        } else {
            return E(value, 0);
        }
    }

private:
    Make &make_;
};

/** Plans that wait while the lifecheck itself uses the type. */
class no_faults {
public:
    no_faults() noexcept : allocation_(heap.countdown), plan_(planned)
    {
        heap.countdown = -1;
        planned = fault_plan();
    }
    no_faults(const no_faults &) = delete;
    no_faults &operator=(const no_faults &) = delete;
    ~no_faults()
    {
        heap.countdown = allocation_;
        planned = plan_;
    }

private:
    long allocation_;
    fault_plan plan_;
};

/** The functions of an element type E, which is T or fault_injected<T>. */
template <class E, storage Storage, class T, class Make>
class typed_functions final : public value_functions {
    using cell = denizen::detail::cell<E, Storage>;
    static constexpr bool moves = std::is_move_constructible_v<E>;

public:
    explicit typed_functions(Make &make) : make_(make)
    {
        ends_quietly = std::is_nothrow_destructible_v<E>;
        is_fault_injected = !std::is_same_v<E, T>;
        computes = is_copyable<E>::value && std::is_copy_assignable_v<E>;
    }
    ~typed_functions() override
    {
        for (auto &[number, known] : known_) {
            destroy(known);
        }
    }

    bool differs(const std::uint8_t *at, std::uint32_t number) override
    {
        if constexpr (equality<E>::known) {
            const E *wanted = reference(number);
            return wanted != nullptr &&
                   !same(*cell::object(static_cast<const void *>(at)), *wanted);
        } else {
            (void)at, (void)number;
            return false;
        }
    }
    bool points_into_itself(const std::uint8_t *at) const override
    {
        return Storage != storage::boxed && denizen::detail::points_into_itself<E>(at);
    }
    outcome build(std::uint8_t *at, std::uint32_t number) override
    {
        return guarded([&] { cell::emplace_from(at, [&]() -> E { return make_(number); }); });
    }
    outcome put(std::uint8_t *at, std::uint32_t number, bool moved, bool &made) override
    {
        struct note {
            bool &made;
            int flying;
            ~note() { made = std::uncaught_exceptions() == flying; }
        };
        return guarded([&] {
            const auto fresh = [&]() -> E {
                note after{made, std::uncaught_exceptions()};
                return make_(number);
            };
            if constexpr (moves) {
                if (moved) {
                    E value = fresh();
                    denizen::detail::put<E, cell>(at, [&]() -> E && { return std::move(value); });
                    return;
                }
            }
            if constexpr (moves || Storage == storage::boxed) {
                denizen::detail::put<E, cell>(at, fresh);
            } else {
                denizen::detail::end_object<cell>(at);
                cell::emplace_from(at, fresh);
            }
        });
    }
    outcome loop(run_of_cells cells, std::uint32_t number, bool writes) override
    {
        std::uint8_t *const arguments[] = {cells.first, cells.first};
        const std::ptrdiff_t strides[] = {cells.stride, cells.stride};
        if constexpr (std::is_default_constructible_v<E> && moves && std::is_swappable_v<E> &&
                      std::is_move_assignable_v<E>) {
            if (writes) {
                return run<true, denizen::detail::list<E>>(
                    [&](E &out, const E &) { out = make_(number); }, cells.count, arguments,
                    strides);
            }
        }
        if constexpr (moves || Storage == storage::boxed) {
            return run<false, denizen::detail::list<E>>(
                [&](const E &) -> E { return make_(number); }, cells.count, arguments, strides);
        } else {
            return {cells.count == 0, 0, "this type can be put nowhere"};
        }
    }
    outcome compute(run_of_cells to, run_of_cells from) override
    {
        std::uint8_t *const arguments[] = {from.first, to.first, to.first};
        const std::ptrdiff_t strides[] = {from.stride, to.stride, to.stride};
        if constexpr (is_copyable<E>::value && std::is_copy_assignable_v<E>) {
            return run<false, denizen::detail::list<E, E>>(
                [](const E &x, const E &) -> const E & { return x; }, to.count, arguments, strides);
        } else {
            return {to.count == 0, 0, "not copyable"};
        }
    }

    std::string text(std::uint32_t number) override
    {
        if constexpr (denizen::detail::has_stream<T> || std::is_same_v<T, std::string>) {
            constexpr std::size_t longest = 200;
            std::string shown;
            try {
                if (const E *known = reference(number)) {
                    const no_faults calm;
                    shown = denizen::detail::natural_text<T>()(bare(*known));
                }
            } catch (...) {
            }
            if (shown.size() > longest) {
                shown.resize(longest);
                shown += "..";
            }
            for (char &letter : shown) {
                letter = static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
            }
            return shown;
        } else {
            (void)number;
            return "";
        }
    }

private:
    static const T &bare(const E &object)
    {
        if constexpr (std::is_same_v<E, T>) {
            return object;
        } else {
            return object.value;
        }
    }
    /* Runs a function that throws. */
    template <class F>
    static outcome guarded(F &&function)
    {
        return cell_functions::call(1, [&](denizen_error *error_out) {
            return denizen::detail::guarded(error_out, function);
        });
    }
    /* The loop that element<E>::loop makes of a callable. */
    template <bool Writes, class Inputs, class F>
    static outcome run(F function, std::size_t count, std::uint8_t *const *arguments,
                       const std::ptrdiff_t *strides)
    {
        using loop = denizen::detail::loop_for<E, cell, F, Writes, false, Inputs,
                                               denizen::detail::list<E>>;
        const auto dimensions = static_cast<std::ptrdiff_t>(count);
        return cell_functions::call(count, [&](denizen_error *error_out) {
            return loop::code::run(&function, arguments, &dimensions, strides, error_out);
        });
    }
    /* False where `==` throws too: then nobody can tell. */
    static bool same(const E &left, const E &right, bool unknown = true)
    {
        const no_faults calm;
        const armed watch;
        try {
            return equality<E>::same(left, right);
        } catch (...) {
            return unknown;
        }
    }

    static E *build_default()
    {
        if (denizen::detail::default_of<E>.make != nullptr) {
            auto room = std::make_unique<denizen::detail::probe_memory<E>>();
            denizen::detail::default_of<E>.make(denizen::detail::default_of<E>.state,
                                                room->bytes);
            return reinterpret_cast<E *>(room.release());
        }
        if constexpr (std::is_default_constructible_v<E>) {
            auto room = std::make_unique<denizen::detail::probe_memory<E>>();
            ::new (static_cast<void *>(room->bytes)) E();
            return reinterpret_cast<E *>(room.release());
        }
        return nullptr;
    }
    E *build_reference(std::uint32_t number) const
    {
        const no_faults calm;
        const armed watch;
        try {
            if (number == default_number) {
                return build_default();
            }
            auto room = std::make_unique<denizen::detail::probe_memory<E>>();
            ::new (static_cast<void *>(room->bytes)) E(make_(number));
            return reinterpret_cast<E *>(room.release());
        } catch (...) {
            return nullptr;
        }
    }
    static void destroy(E *object) noexcept
    {
        if (object == nullptr) {
            return;
        }
        const no_faults calm;
        const armed watch;
        try {
            object->~E();
        } catch (...) {
        }
        delete reinterpret_cast<denizen::detail::probe_memory<E> *>(object);
    }
    /* The value of a number, or NULL where two of them differ. */
    const E *reference(std::uint32_t number)
    {
        const auto found = known_.find(number);
        if (found != known_.end()) {
            return found->second;
        }
        E *first = build_reference(number), *second = build_reference(number);
        if (first != nullptr && (second == nullptr || !same(*first, *second, false))) {
            destroy(first);
            first = nullptr;
        }
        destroy(second);
        known_.emplace(number, first);
        return first;
    }

    maker<E, T, Make> make_;
    std::map<std::uint32_t, E *> known_;
};

} // namespace detail
} // namespace testing
} // namespace denizen

#endif
