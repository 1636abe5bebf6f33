/*
 * Inner loops: a callable on values becomes a loop over strided cells.
 *
 * A loop is compiled for its callable and for the storage of its operands, so that the work on an
 * element inlines. One try block stands around all elements.
 *
 * Callables (T: the element type; U, V: any element or built-in types):
 *     T f(const T &, U, ..)              returns the result; `std::tuple` or `std::pair` of several.
 *                                        An expression that converts to T counts, but the callable
 *                                        has returned when it is evaluated: say `-> T` where it
 *                                        refers to something that lives in the callable
 *     void f(T &out, const T &, U, ..)   writes the result into `out`; several outputs come first
 *
 * A callable that writes gets an `out` that is an object already: the old one of a cell that is
 * live, whose storage it may use again, or a default value (a copy of an input, where T has no
 * default). Whatever is there, it must overwrite it. NumPy allows an output to be an input
 * (`np.add(a, b, out=a)`, reductions). Then `out` is another object, which is swapped into the
 * cell afterwards, unless the loop was given `denizen::may_alias`: then the callable must be right
 * when `out` is one of its inputs.
 */
#ifndef DENIZEN_CPP_LOOPS_HPP
#define DENIZEN_CPP_LOOPS_HPP

#include <denizen/cpp/cell_objects.hpp>
#include <denizen/cpp/reference.hpp>
#include <denizen/cpp/runtime.hpp>
#include <denizen/cpp/scalars.hpp>
#include <denizen/cpp/signature.hpp>

#include <functional>
#include <tuple>

namespace denizen __attribute__((visibility("hidden"))) {

/** Said of a callable `void f(T &out, const T &, ..)`: it is right when `out` is an input. */
struct may_alias_t {};
inline constexpr may_alias_t may_alias{};

namespace detail {

/* ---- operands ------------------------------------------------------------------------------- */

/** Reads values of a built-in type. */
template <class U>
struct scalar_input {
    using type = U;
    U get(const void *data) noexcept { return load_scalar<U>(data); }
};

/** Reads objects; a vacant cell reads as the default value. */
template <class T, class Cell>
struct cell_input {
    using type = T;
    const T &get(const void *cell)
    {
        if (__builtin_expect(static_cast<long>(Cell::vacant(cell)), 0)) {
            return default_.default_value();
        }
        return *Cell::object(cell);
    }

private:
    lazy<T> default_;
};

/** Writes values of a built-in type. */
template <class U>
struct scalar_output {
    using type = U;
    template <class Make>
    void store(void *data, Make &&make)
    {
        store_scalar<U>(data, static_cast<U>(make()));
    }

    /* A place to write to, for callables that write. */
    struct place {
        template <class Sample>
        place(scalar_output &, void *data, bool, Sample) noexcept : data_(data)
        {
        }
        U &value() noexcept { return value_; }
        void commit() noexcept { store_scalar<U>(data_, value_); }

    private:
        void *data_;
        U value_{};
    };
};

/** Writes objects. */
template <class T, class Cell, bool MayAlias>
struct cell_output {
    using type = T;
    template <class Make>
    void store(void *cell, Make &&make)
    {
        put<T, Cell>(cell, make);
    }

    /* The object that a callable writes to: that of the cell, or another one that is swapped into
     * it. A cell that was vacant is vacant again where the callable throws. */
    class place {
    public:
        template <class Sample>
        place(cell_output &output, void *cell, bool aliased, Sample sample) : cell_(cell)
        {
            if (!MayAlias && aliased) {
                apart_ = true;
                object_ = &output.fresh_scratch(sample);
            } else if (Cell::vacant(cell)) {
                object_ = fill(cell, sample);
                built_ = true;
            } else {
                object_ = Cell::object(cell);
            }
        }
        place(const place &) = delete;
        place &operator=(const place &) = delete;
        ~place()
        {
            if (built_) {
                destroy_built();
            }
        }
        T &value() noexcept { return *object_; }
        void commit()
        {
            built_ = false;
            if (apart_) {
                if (Cell::vacant(cell_)) {
                    Cell::emplace(cell_, std::move(*object_));
                } else {
                    using std::swap;
                    swap(*Cell::object(cell_), *object_);
                }
            }
        }

    private:
        template <class Sample>
        static T *fill(void *cell, Sample sample)
        {
            if constexpr (std::is_same_v<Sample, std::nullptr_t>) {
                if constexpr (std::is_default_constructible_v<T>) {
                    return Cell::emplace(cell);
                } else {
                    static_assert(always_false<T>,
                                  "denizen: a callable that writes its result needs a T that has a "
                                  "default constructor, or can be copied from an input");
                }
            } else {
                return Cell::emplace(cell, *sample);
            }
        }
        void destroy_built() noexcept
        {
            try {
                end_object<Cell>(cell_);
            } catch (...) {
            }
        }

        void *cell_;
        T *object_ = nullptr;
        bool built_ = false;
        bool apart_ = false;
    };

    template <class Sample>
    T &fresh_scratch(Sample sample)
    {
        if constexpr (std::is_same_v<Sample, std::nullptr_t>) {
            if constexpr (std::is_default_constructible_v<T>) {
                return scratch_.plain();
            } else {
                static_assert(always_false<T>,
                              "denizen: a callable that writes its result needs a T that has a "
                              "default constructor, or can be copied from an input");
            }
        } else {
            return scratch_.copy_of(*sample);
        }
    }

private:
    lazy<T> scratch_;
};

/* ---- the loop ------------------------------------------------------------------------------- */

/* How operands of the type U are read and written in a loop of the element type T. */
template <class T, class Cell, class U>
using cell_for = std::conditional_t<std::is_same_v<T, U>, Cell, foreign_cell<U>>;

template <class T, class Cell, class U, bool Builtin = is_builtin<U> && !std::is_same_v<T, U>>
struct operand_code {
    using input = scalar_input<U>;
    template <bool MayAlias>
    using output = scalar_output<U>;
    static denizen_operand describe() noexcept
    {
        return {DENIZEN_OPERAND_NUMPY, type_number<U>, nullptr};
    }
};
template <class T, class Cell, class U>
struct operand_code<T, Cell, U, false> {
    using input = cell_input<U, cell_for<T, Cell, U>>;
    template <bool MayAlias>
    using output = cell_output<U, cell_for<T, Cell, U>, MayAlias>;
    static denizen_operand describe()
    {
        if constexpr (std::is_same_v<T, U>) {
            return {DENIZEN_OPERAND_SELF, 0, nullptr};
        } else {
            return {DENIZEN_OPERAND_ELEMENT, 0, registered<U>().element};
        }
    }
};

/* The first of some references whose type is T, as a pointer. */
template <class T>
inline std::nullptr_t first_of_type() noexcept
{
    return nullptr;
}
template <class T, class First, class... Rest>
inline auto first_of_type(const First &first, const Rest &...rest) noexcept
{
    if constexpr (std::is_same_v<T, First>) {
        return &first;
    } else {
        return first_of_type<T>(rest...);
    }
}

/* One element of a loop whose callable writes its results. */
template <class F, class Outputs, class... Inputs>
struct writer {
    F &f;
    Outputs &outputs;
    std::uint8_t *const *data;
    std::uint8_t *const *output_data;
    std::size_t input_count;

    template <std::size_t K = 0, class... Places>
    void write(std::tuple<Inputs...> &inputs, Places &...places)
    {
        if constexpr (K == std::tuple_size_v<Outputs>) {
            std::apply([&](auto &&...input) { f(places..., input...); }, inputs);
        } else {
            using output = std::tuple_element_t<K, Outputs>;
            using type = typename output::type;
            bool aliased = false;
            for (std::size_t index = 0; index < input_count; index++) {
                aliased |= data[index] == output_data[K];
            }
            const auto sample = std::apply(
                [](const auto &...input) {
                    if constexpr (std::is_default_constructible_v<type> ||
                                  !is_copyable<type>::value) {
                        return nullptr;
                    } else {
                        return first_of_type<type>(input...);
                    }
                },
                inputs);
            typename output::place place(std::get<K>(outputs), output_data[K], aliased, sample);
            write<K + 1>(inputs, places..., place.value());
            place.commit();
        }
    }
};

/**
 * The loop of a callable: `Inputs` and `Outputs` are operand policies. The context is the
 * callable.
 */
template <class F, bool Writes, class Inputs, class Outputs>
struct loop_code;
template <class F, bool Writes, class... I, class... O>
struct loop_code<F, Writes, list<I...>, list<O...>> {
    static constexpr std::size_t inputs = sizeof...(I);
    static constexpr std::size_t operands = inputs + sizeof...(O);

    static denizen_status run(void *context, std::uint8_t *const *arguments,
                              const std::ptrdiff_t *dimensions, const std::ptrdiff_t *strides,
                              denizen_error *error_out) noexcept
    {
        F &f = *static_cast<F *>(context);
        const std::size_t count = static_cast<std::size_t>(dimensions[0]);
        std::size_t done = 0;
        const denizen_status status = guarded(error_out, [&] {
            all(f, arguments, strides, count, done, std::make_index_sequence<inputs>{},
                std::make_index_sequence<operands>{});
        });
        if (status != DENIZEN_OK) {
            error_out->done = done;
        }
        return status;
    }

private:
    template <std::size_t... In, std::size_t... All>
    static void all(F &f, std::uint8_t *const *arguments, const std::ptrdiff_t *strides,
                    std::size_t count, std::size_t &done, std::index_sequence<In...>,
                    std::index_sequence<All...>)
    {
        std::tuple<I...> readers;
        std::tuple<O...> writers;
        std::uint8_t *data[operands] = {arguments[All]...};
        const std::ptrdiff_t steps[operands] = {strides[All]...};
        for (; done < count; done++) {
            if constexpr (Writes) {
                std::tuple<decltype(std::get<In>(readers).get(data[In]))...> values(
                    std::get<In>(readers).get(data[In])...);
                writer<F, std::tuple<O...>, decltype(std::get<In>(readers).get(data[In]))...>{
                    f, writers, data, data + inputs, inputs}
                    .write(values);
            } else if constexpr (sizeof...(O) == 1) {
                std::get<0>(writers).store(data[inputs], [&]() -> decltype(auto) {
                    return f(std::get<In>(readers).get(data[In])...);
                });
            } else {
                auto results = f(std::get<In>(readers).get(data[In])...);
                store_all(writers, results, data + inputs, std::make_index_sequence<sizeof...(O)>{});
            }
            ((data[All] += steps[All]), ...);
        }
    }

    template <class Results, std::size_t... K>
    static void store_all(std::tuple<O...> &writers, Results &results, std::uint8_t *const *data,
                          std::index_sequence<K...>)
    {
        (std::get<K>(writers).store(
             data[K], [&]() -> decltype(auto) { return std::move(std::get<K>(results)); }),
         ...);
    }
};

/* The code of `f` with operands of these types in a loop of the element type T. */
template <class T, class Cell, class F, bool Writes, bool MayAlias, class Inputs, class Outputs>
struct loop_for;
template <class T, class Cell, class F, bool Writes, bool MayAlias, class... I, class... O>
struct loop_for<T, Cell, F, Writes, MayAlias, list<I...>, list<O...>> {
    using code = loop_code<
        F, Writes, list<typename operand_code<T, Cell, I>::input...>,
        list<typename operand_code<T, Cell, O>::template output<MayAlias>...>>;
    static constexpr bool has_self = (std::is_same_v<T, I> || ...) || (std::is_same_v<T, O> || ...);
    static std::vector<denizen_operand> operands()
    {
        return {operand_code<T, Cell, I>::describe()..., operand_code<T, Cell, O>::describe()...};
    }
};

} // namespace detail
} // namespace denizen

#endif
