/*
 * The builder: what the author of a type says about it.
 *
 *     denizen::element<mp::real>("real")
 *         .arithmetic().ordering().text()
 *         .cast<double>().cast<long>()
 *         .loop("sqrt", [](real &out, const real &x) { sqrt(out, x); })
 *         .thread_safe()
 *         .add_to(module);
 *
 * Construction, copy, assignment and destruction are T's own. What T lacks is absent; using it
 * from Python is a TypeError. Every callable is kept for the rest of the process. It runs with the
 * GIL held, unless the type is `thread_safe()`: then callables on values run without it, on
 * several threads at once, and touch nothing of Python. Callables may throw.
 */
#ifndef DENIZEN_CPP_ELEMENT_HPP
#define DENIZEN_CPP_ELEMENT_HPP

#include <denizen/cpp/casts.hpp>
#include <denizen/cpp/element_state.hpp>
#include <denizen/cpp/float_functions.hpp>
#include <denizen/cpp/loops.hpp>
#include <denizen/cpp/operations.hpp>
#include <denizen/cpp/order.hpp>
#include <denizen/cpp/probe.hpp>
#include <denizen/cpp/products.hpp>
#include <denizen/cpp/text.hpp>

#include <memory>
#include <string>
#include <vector>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {
namespace detail {
struct vtable_of;
} // namespace detail
} // namespace testing
namespace detail {

/** What a registered type needs for the rest of the process. Reachable, so that no leak checker
 * takes it for lost, and never destroyed, as arrays may outlive static objects. */
inline std::vector<std::shared_ptr<void>> *kept = nullptr;

/* A PyObject * out of one, or out of a handle of a binding library. */
template <class Object>
inline PyObject *python_object(const Object &object)
{
    if constexpr (std::is_convertible_v<const Object &, PyObject *>) {
        return object;
    } else {
        return object.ptr();
    }
}


} // namespace detail

/**
 * Describes an element type that stores values of T; `Storage` is how its objects sit in their
 * cells. `add_to` registers it. Where the same ufunc is given twice for the same operands, the
 * last word counts.
 */
template <class T, storage Storage = detail::default_storage<T>>
class element : private detail::element_state<element<T, Storage>, T, Storage> {
    static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T> &&
                      !std::is_volatile_v<T>,
                  "denizen: an element type is a plain object type");
    static_assert(std::is_destructible_v<T>, "denizen: objects of an element type are destroyed");

    using base = detail::element_state<element, T, Storage>;
    friend base;
    /* What a base that depends on T declares is not found without these. */
    using typename base::cell;
    using typename base::conversions;
    using typename base::operations;
    using base::copyable;
    using base::name_, base::module_, base::documentation_, base::flags_, base::touched_,
        base::owners_, base::hooks_, base::loops_, base::casts_, base::identities_,
        base::default_, base::probe_, base::zero_, base::scalar_class_, base::construct_,
        base::compare_, base::sort_, base::argsort_, base::keyed_sort_,
        base::keyed_argsort_, base::nonzero_, base::hash_, base::heap_bytes_,
        base::to_text_, base::from_text_, base::save_, base::load_, base::text_codec_,
        base::to_python_, base::from_python_;
    using base::expression, base::keep, base::maker, base::order_loops, base::push_entry,
        base::push_identity, base::push_products, base::set_parse, base::set_text, base::touch;

    template <class F>
    using stored = std::decay_t<F>;

public:
    /** `name` becomes the name of the Python scalar class. */
    explicit element(std::string name) : base(std::move(name)) {}

    /** Another storage. Said first, as all that follows is compiled for it. */
    template <denizen::storage Other>
    element<T, Other> storage() const
    {
        if (!loops_.empty() || !casts_.empty() || !identities_.empty() || touched_) {
            throw error(error_kind::value,
                        name_ + ": the storage is chosen before anything else is said");
        }
        return element<T, Other>(name_);
    }

    // ---- life ----------------------------------------------------------------------------------

    /** The value of cells that nothing was written to, instead of `T()`. */
    template <class F>
    element &default_with(F &&make)
    {
        static_assert(cell::zero_meaning != zero::default_value,
                      "denizen: zero bytes are the default value of this T (denizen::zero_bytes), "
                      "so it can have no other: choose storage::tagged or storage::boxed");
        using function = stored<F>;
        default_.state = keep(std::forward<F>(make));
        default_.make = [](void *state, void *address) {
            ::new (address) T((*static_cast<function *>(state))());
        };
        construct_ = &operations::template construct_with<function>;
        return touch();
    }

    /** Objects may be used by several threads, one writer or many readers each: loops run without
     * the GIL. */
    element &thread_safe()
    {
        flags_ = DENIZEN_ELEMENT_THREAD_SAFE;
        return *this;
    }

    /** Everything runs with the GIL held, destruction too. This is so without a word. */
    element &needs_gil()
    {
        flags_ = DENIZEN_ELEMENT_DESTROY_NEEDS_GIL;
        return *this;
    }

    // ---- groups of ufuncs ----------------------------------------------------------------------

    /** `add`, `subtract`, `multiply`, `divide`, `negative` and `positive`: those of the operators
     * + - * / and unary - that T has with a result that converts to T. */
    element &arithmetic()
    {
        static_assert(detail::has_plus<T> || detail::has_minus<T> || detail::has_multiplies<T> ||
                          detail::has_divides<T> || detail::has_negate<T>,
                      "denizen: arithmetic() needs one of the operators + - * / or unary - on T");
        if constexpr (detail::has_plus<T>) {
            expression("add", [](const T &x, const T &y) -> decltype(auto) { return x + y; });
        }
        if constexpr (detail::has_minus<T>) {
            expression("subtract", [](const T &x, const T &y) -> decltype(auto) { return x - y; });
        }
        if constexpr (detail::has_multiplies<T>) {
            expression("multiply", [](const T &x, const T &y) -> decltype(auto) { return x * y; });
        }
        if constexpr (detail::has_divides<T>) {
            expression("divide", [](const T &x, const T &y) -> decltype(auto) { return x / y; });
        }
        if constexpr (detail::has_negate<T>) {
            this->template push_loop<false, false, detail::list<T>, detail::list<T>>(
                "negative", [](const T &x) -> decltype(auto) { return -x; }, false);
            if constexpr (copyable) {
                this->template push_loop<false, false, detail::list<T>, detail::list<T>>(
                    "positive", [](const T &x) -> const T & { return x; }, true);
            }
        }
        return *this;
    }

    /** `equal` and `not_equal` by `==`. */
    element &equality()
    {
        static_assert(detail::has_equal<T>, "denizen: equality() needs the operator == on T");
        using order = detail::natural_order<T>;
        this->template compare_loop<order, detail::comparison::equal>("equal", order{}, false);
        this->template compare_loop<order, detail::comparison::not_equal>("not_equal", order{},
                                                                          false);
        return *this;
    }

    /**
     * The six comparisons, sorting, and (for a T that can be copied) `maximum`, `minimum`, `fmax`
     * and `fmin`, by `<` and where T has them `==` and `<=`. Values that are not equal to
     * themselves (NaN) compare false, sort last, and win `maximum` and `minimum`.
     */
    element &ordering()
    {
        static_assert(detail::has_less<T>, "denizen: ordering() needs the operator < on T, or use "
                                           "compare(f) with a three-way comparison");
        using order = detail::ordering<T, cell, detail::make_natural_order<T>>;
        this->template set_order<order>();
        order_loops(detail::natural_order<T>{}, false);
        return *this;
    }

    /**
     * Sorting by `f(const T &, const T &)`: negative, 0 or positive, in a total order; or an
     * optional number or a C++20 ordering, where values that compare with nothing, themselves
     * included, sort last. Comparisons, `maximum` and so on follow it too unless the type has them
     * already, by ordering() or loop().
     */
    template <class F>
    element &compare(F &&f)
    {
        using function = stored<F>;
        static_assert(std::is_invocable_v<function &, const T &, const T &>,
                      "denizen: compare(f) needs f(const T &, const T &)");
        auto *kept = keep(std::forward<F>(f));
        hooks_->compare = kept;
        this->template set_order<
            detail::ordering<T, cell, detail::make_given_order<T, function>>>();
        order_loops(detail::given_order<T, function>{*kept}, true);
        return *this;
    }

    /**
     * Makes sorting faster where comparisons are slow: `f(const T &)` returns a number (not NaN)
     * that never contradicts the order: where x sorts before y, `f(x) <= f(y)`. It is computed once
     * for each value; the comparison decides where numbers are equal. ordering() or compare() is
     * said too.
     */
    template <class F>
    element &sort_key(F &&f)
    {
        using function = stored<F>;
        static_assert(std::is_invocable_v<function &, const T &>,
                      "denizen: sort_key(f) needs f(const T &)");
        using key = detail::remove_cvref<std::invoke_result_t<function &, const T &>>;
        static_assert(std::is_arithmetic_v<key>, "denizen: sort_key(f) returns a number");
        hooks_->sort_key = keep(std::forward<F>(f));
        keyed_sort_ = &detail::keyed_ordering<T, cell, function>::sort;
        keyed_argsort_ = &detail::keyed_ordering<T, cell, function>::argsort;
        return touch();
    }

    /** `matmul`, `vecdot`, `matvec` and `vecmat` (also `np.dot`) by `*` and `+` or `+=`: sums from
     * left to right, nothing conjugated. A sum of no products needs zero(). */
    element &linear_algebra()
    {
        static_assert(detail::has_multiplies<T> &&
                          (detail::has_plus<T> || detail::has_plus_assign<T>),
                      "denizen: linear_algebra() needs the operators * and + (or +=) on T, or a "
                      "function void(T &sum, const T &, const T &)");
        return push_products(detail::natural_fused<T>{});
    }

    /** The same with `fused(T &sum, const T &x, const T &y)`, which adds `x * y` to `sum`. Sums
     * start with the first product, by `fused(x, y)` if that too can be called, else by T's `*`;
     * where there is neither, with zero(). */
    template <class Fused>
    element &linear_algebra(Fused &&fused)
    {
        static_assert(std::is_invocable_v<stored<Fused> &, T &, const T &, const T &>,
                      "denizen: linear_algebra(f) needs f(T &sum, const T &x, const T &y)");
        return push_products(std::forward<Fused>(fused));
    }

    // ---- loops ---------------------------------------------------------------------------------

    /**
     * The loop of a ufunc, by its name in `numpy` (or `module:name`). The signature is that of
     * the callable, see loops.hpp. Operands are T, built-in numbers, and other element types that
     * this module registered or imported.
     */
    template <class F, class = std::enable_if_t<!std::is_function_v<F>>>
    element &loop(const char *ufunc, F f)
    {
        static_assert(detail::callable<F>::known,
                      "denizen: the signature of an overloaded or generic callable is given as in "
                      "loop<T(const T &, double)>(name, f)");
        return this->template signed_loop<detail::callable<F>, false>(ufunc, std::move(f));
    }
    template <class F, class = std::enable_if_t<!std::is_function_v<F>>>
    element &loop(const char *ufunc, F f, may_alias_t)
    {
        static_assert(detail::callable<F>::known,
                      "denizen: the signature of an overloaded or generic callable is given as in "
                      "loop<T(const T &, double)>(name, f)");
        return this->template signed_loop<detail::callable<F>, true>(ufunc, std::move(f));
    }

    /** The same for a callable that is overloaded or generic: `loop<bool(const T &)>(..)`. */
    template <class Signature, class F, class = std::enable_if_t<std::is_function_v<Signature>>,
              class = void>
    element &loop(const char *ufunc, F f)
    {
        return this->template signed_loop<detail::signature<Signature>, false>(ufunc, std::move(f));
    }
    template <class Signature, class F, class = std::enable_if_t<std::is_function_v<Signature>>,
              class = void>
    element &loop(const char *ufunc, F f, may_alias_t)
    {
        return this->template signed_loop<detail::signature<Signature>, true>(ufunc, std::move(f));
    }

    /**
     * The functions that NumPy computes of integers as `float64`: roots, exponentials, logarithms,
     * trigonometric and hyperbolic functions, `arctan2`, `hypot`, `logaddexp`, `float_power`,
     * `fabs`, `copysign`, `nextafter`, `spacing`, `heaviside`, `modf`, `frexp` and `ldexp`, by
     * NumPy's own loops. The results are `float64` (beside a `longdouble` or complex operand, or
     * with `dtype=`, what NumPy has for those), rounded twice: once when a value becomes a float.
     *
     * Only for types that are numbers and nothing more: a dual number would lose its derivative.
     * Needs a cast to double of level same_kind or safe, as in
     * `cast_to<double>(denizen::casting::same_kind, f)`, or without f where T converts to double;
     * `cast<double>()` alone makes an unsafe one. A loop of the type's own for one of these ufuncs
     * comes before.
     */
    element &float_functions()
    {
        for (const detail::float_function &known : detail::float_functions) {
            push_entry({known.ufunc, known.operands(), known.inputs, nullptr, nullptr, true});
        }
        return touch();
    }

    /** The value that reductions of a ufunc start from, and their result for no elements: a value
     * or a callable that makes it. */
    template <class Value>
    element &identity(const char *ufunc, Value &&value)
    {
        push_identity(ufunc, maker(std::forward<Value>(value)));
        return touch();
    }

    /** The neutral element of addition: the sum of no elements, and of no products. */
    template <class Value>
    element &zero(Value &&value)
    {
        auto make = maker(std::forward<Value>(value));
        using function = decltype(make);
        zero_.state = keep(make);
        zero_.make = [](void *state) -> T { return (*static_cast<function *>(state))(); };
        push_identity("add", std::move(make));
        return touch();
    }

    /** The neutral element of multiplication: the product of no elements. */
    template <class Value>
    element &one(Value &&value)
    {
        return identity("multiply", std::forward<Value>(value));
    }

    // ---- casts ---------------------------------------------------------------------------------

    /**
     * Casts from and to U by T's constructors and conversions, in the directions that exist. From
     * U it is safe where U converts implicitly, else within a kind; to U it is unsafe. A number
     * that does not fit into an integer U is an OverflowError.
     */
    template <class U>
    element &cast()
    {
        constexpr bool from = detail::convert_from<T, U>::exists;
        constexpr bool to = detail::convert_to<U, T>::exists;
        static_assert(from || to, "denizen: cast<U>() needs a constructor T(U) or a conversion of T "
                                  "to U; cast_from<U>(level, f) and cast_to<U>(level, f) take "
                                  "functions");
        if constexpr (from) {
            cast_from<U>(detail::convert_from<T, U>::level);
        }
        if constexpr (to) {
            cast_to<U>(casting::unsafe);
        }
        return *this;
    }

    /** A cast from U by T's constructor. */
    template <class U>
    element &cast_from(casting level)
    {
        static_assert(detail::convert_from<T, U>::exists,
                      "denizen: cast_from<U>(level) needs a constructor T(U); "
                      "cast_from<U>(level, f) takes a function T(const U &)");
        return this->template push_cast<U, T, false>(level, detail::convert_from<T, U>{});
    }

    /** A cast from U by `T f(const U &)` or `void f(T &out, const U &)`. */
    template <class U, class F>
    element &cast_from(casting level, F f)
    {
        constexpr bool writes = std::is_invocable_v<F &, T &, const U &>;
        static_assert(writes || std::is_invocable_v<F &, const U &>,
                      "denizen: cast_from<U>(level, f) needs T f(const U &) or "
                      "void f(T &out, const U &)");
        return this->template push_cast<U, T, writes>(level, std::move(f));
    }

    /** A cast to U by T's conversion. */
    template <class U>
    element &cast_to(casting level)
    {
        static_assert(detail::convert_to<U, T>::exists,
                      "denizen: cast_to<U>(level) needs a conversion of T to U; "
                      "cast_to<U>(level, f) takes a function U(const T &)");
        return this->template push_cast<T, U, false>(level, detail::convert_to<U, T>{});
    }

    /** A cast to U by `U f(const T &)` or `void f(U &out, const T &)`. */
    template <class U, class F>
    element &cast_to(casting level, F f)
    {
        constexpr bool writes = std::is_invocable_v<F &, U &, const T &>;
        static_assert(writes || std::is_invocable_v<F &, const T &>,
                      "denizen: cast_to<U>(level, f) needs U f(const T &) or "
                      "void f(U &out, const T &)");
        return this->template push_cast<T, U, writes>(level, std::move(f));
    }

    // ---- single values -------------------------------------------------------------------------

    /** Text of values (`str`, printing), by T's `<<` or else its `to_string`. Where T has a
     * constructor from std::string, text also becomes values, and values whose text gives them
     * back can be pickled. */
    element &text()
    {
        static_assert(detail::has_stream<T> || detail::has_to_string<T>,
                      "denizen: text() needs the operator << to a std::ostream or to_string on T, "
                      "or text(f) with a function");
        set_text(detail::natural_text<T>{});
        if constexpr (std::is_constructible_v<T, const std::string &>) {
            set_parse(detail::natural_parse<T>{});
            text_codec_ = &conversions::template save_checked_text<detail::natural_text<T>,
                                                                   detail::natural_parse<T>>;
            if (std::is_same_v<T, std::string>) {
                text_codec_ = nullptr;
            }
        }
        return touch();
    }

    /** Text of values by `f(const T &)`, which returns what converts to std::string_view. */
    template <class F, class = std::enable_if_t<std::is_invocable_v<stored<F> &, const T &>>>
    element &text(F &&f)
    {
        set_text(std::forward<F>(f));
        return touch();
    }

    /** Text both ways; `parse(std::string_view)` returns a T or throws. Unless there is a codec,
     * pickles hold the text. */
    template <class F, class P>
    element &text(F &&f, P &&parse)
    {
        set_text(std::forward<F>(f));
        set_parse(std::forward<P>(parse));
        text_codec_ = nullptr;
        return touch();
    }

    /** Hash of values by `std::hash`. */
    element &hash()
    {
        static_assert(detail::has_hash<T>,
                      "denizen: hash() needs std::hash<T>, or hash(f) with a function");
        return hash([](const T &value) { return std::hash<T>{}(value); });
    }

    /** Hash of values by `f(const T &)`, an integer that is equal for equal values. */
    template <class F>
    element &hash(F &&f)
    {
        hooks_->hash = keep(std::forward<F>(f));
        hash_ = &operations::template hash<stored<F>>;
        return touch();
    }

    /** Truth of values by T's conversion to bool. */
    element &nonzero()
    {
        static_assert(std::is_constructible_v<bool, const T &>,
                      "denizen: nonzero() needs a conversion of T to bool, or nonzero(f) with a "
                      "function");
        return nonzero([](const T &value) { return static_cast<bool>(value); });
    }

    /** Truth of values by `bool f(const T &)`. */
    template <class F>
    element &nonzero(F &&f)
    {
        hooks_->nonzero = keep(std::forward<F>(f));
        nonzero_ = &operations::template nonzero<stored<F>>;
        return touch();
    }

    /** Heap bytes that a value owns beside itself: `size_t f(const T &)`. */
    template <class F>
    element &heap_bytes(F &&f)
    {
        hooks_->heap_bytes = keep(std::forward<F>(f));
        heap_bytes_ = &operations::template heap_bytes<stored<F>>;
        return touch();
    }

    /**
     * Bytes for pickle. `save(const T &)` returns a std::string or a container of bytes;
     * `load(const uint8_t *, size_t)` or `load(std::string_view)` returns a T or throws.
     *
     * `load` is given any bytes: they come out of a file that somebody may have changed, and nothing
     * checks them before. It looks at the size and at every value that T relies on (lengths, indices,
     * enumerators, pointers never), and throws where they do not fit.
     */
    template <class S, class L>
    element &codec(S &&save, L &&load)
    {
        hooks_->save = keep(std::forward<S>(save));
        hooks_->load = keep(std::forward<L>(load));
        save_ = &conversions::template save<stored<S>>;
        load_ = &conversions::template load<stored<L>>;
        return touch();
    }

    // ---- Python --------------------------------------------------------------------------------

    /**
     * The author's own class of scalars instead of one that is made. `to_python(const T &)` returns
     * a new reference (NULL with an exception set), or an owning object of pybind11 or nanobind;
     * `from_python(PyObject *)` gets a borrowed reference and returns a T or throws. Both run with
     * the GIL held.
     */
    template <class Class, class To, class From>
    element &python_class(const Class &type, To &&to_python, From &&from_python)
    {
        scalar_class_ = detail::python_object(type);
        hooks_->to_python = keep(std::forward<To>(to_python));
        to_python_ = &conversions::template to_python<stored<To>>;
        return this->from_python(std::forward<From>(from_python));
    }

    /** Values of Python objects beside the type's own scalars: `f(PyObject *)` returns a T, or
     * throws (denizen::error with error_kind::type for objects of no use). */
    template <class F>
    element &from_python(F &&f)
    {
        hooks_->from_python = keep(std::forward<F>(f));
        from_python_ = &conversions::template from_python<stored<F>>;
        return touch();
    }

    /** Documentation of the scalar class. */
    element &documentation(std::string text)
    {
        documentation_ = std::move(text);
        return *this;
    }

    /** The module in the type's name, where it is not the one that the type is added to: for an
     * extension module that is a private part of a package. Pickles look there. */
    element &module(std::string name)
    {
        module_ = std::move(name);
        return *this;
    }

    /** A value that debug builds look at, beside the default value, for pointers into itself. */
    template <class Make>
    element &probe_with(Make &&make)
    {
        probe_.state = keep(std::forward<Make>(make));
        probe_.make = [](void *state, void *address) {
            ::new (address) T((*static_cast<stored<Make> *>(state))());
        };
        return touch();
    }

    /**
     * Registers the type and adds its scalar class as `Name` and its DType class as `NameDType` to
     * the module, a PyObject * or a handle with `ptr()`. Once a type and process. GIL held.
     * Throws python_error, or denizen::error where a promise turns out to be false.
     */
    template <class Module>
    void add_to(const Module &module_handle);

private:
    /* A lifecheck drives the functions without registering the type. */
    friend struct testing::detail::vtable_of;
    denizen_element_vtable make_vtable(const std::string &full_name,
                                       const std::string &language_name) const;
};

} // namespace denizen

#include <denizen/cpp/register.hpp>

#endif
