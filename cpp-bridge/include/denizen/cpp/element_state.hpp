/*
 * What an element type has been told so far: its functions, and the loops, casts and identities that
 * wait for registration.
 */
#ifndef DENIZEN_CPP_ELEMENT_STATE_HPP
#define DENIZEN_CPP_ELEMENT_STATE_HPP

#include <denizen/cpp/casts.hpp>
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
namespace detail {

/* Loops, casts and identities that wait for registration. */
struct loop_entry {
    std::string ufunc;
    std::vector<denizen_operand> operands;
    std::size_t inputs;
    denizen_loop_fn function;
    void *context;
    /** Gives way to another loop of the same ufunc and operands, wherever that is said. */
    bool weak;
};
struct cast_entry {
    denizen_operand from, to;
    casting level;
    denizen_loop_fn function;
    void *context;
};
struct identity_entry {
    std::string ufunc;
    denizen_construct_fn construct;
    void *context;
};

inline bool same_operand(const denizen_operand &left, const denizen_operand &right) noexcept
{
    return left.kind == right.kind && left.numpy_type == right.numpy_type &&
           left.element == right.element;
}

inline bool same_operands(const std::vector<denizen_operand> &left,
                          const std::vector<denizen_operand> &right) noexcept
{
    if (left.size() != right.size()) {
        return false;
    }
    for (std::size_t index = 0; index < left.size(); index++) {
        if (!same_operand(left[index], right[index])) {
            return false;
        }
    }
    return true;
}

/** The part of an `element` that is not its interface. `Self` is that element. */
template <class Self, class T, storage Storage>
class element_state {
protected:
    using cell = detail::cell<T, Storage>;
    using operations = detail::operations<T, cell>;
    using conversions = detail::conversions<T, cell>;
    static constexpr bool copyable = is_copyable<T>::value;

    template <class F>
    using stored = std::decay_t<F>;

    explicit element_state(std::string name) : name_(std::move(name)) {}

    Self &itself()
    {
        return static_cast<Self &>(*this);
    }

    Self &touch()
    {
        touched_ = true;
        return itself();
    }

    /* Moves a callable to where it stays. */
    template <class F>
    stored<F> *keep(F &&f)
    {
        auto owner = std::make_shared<stored<F>>(std::forward<F>(f));
        stored<F> *address = owner.get();
        owners_.push_back(std::move(owner));
        return address;
    }

    /* A callable that makes a value, out of one or out of a value. */
    template <class Value>
    static auto maker(Value &&value)
    {
        if constexpr (std::is_convertible_v<Value &&, T>) {
            static_assert(copyable, "denizen: a T that cannot be copied is made by a callable");
            return [held = T(std::forward<Value>(value))]() -> T { return held; };
        } else {
            static_assert(std::is_invocable_r_v<T, stored<Value> &>,
                          "denizen: this needs a value that converts to T, or a callable that "
                          "returns one");
            return stored<Value>(std::forward<Value>(value));
        }
    }

    void push_entry(detail::loop_entry entry)
    {
        for (std::size_t index = 0; index < loops_.size(); index++) {
            detail::loop_entry &other = loops_[index];
            if (other.ufunc == entry.ufunc &&
                detail::same_operands(other.operands, entry.operands)) {
                if (!entry.weak || other.weak) {
                    other = std::move(entry);
                }
                return;
            }
        }
        loops_.push_back(std::move(entry));
    }

    template <bool Writes, bool MayAlias, class Inputs, class Outputs, class F>
    void push_loop(const char *ufunc, F f, bool weak)
    {
        using found = detail::loop_for<T, cell, F, Writes, MayAlias, Inputs, Outputs>;
        push_entry({ufunc, found::operands(), Inputs::size, &found::code::run, keep(std::move(f)),
                    weak});
    }

    template <class F>
    void expression(const char *ufunc, F f)
    {
        push_loop<false, false, detail::list<T, T>, detail::list<T>>(ufunc, f, false);
    }

    template <class Order, detail::comparison Which>
    void compare_loop(const char *ufunc, Order order, bool weak)
    {
        push_loop<false, false, detail::list<T, T>, detail::list<bool>>(
            ufunc, detail::compare_values<T, Order, Which>{order}, weak);
    }

    template <bool Larger, bool UnorderedWins, class Order>
    void choose_loop(const char *ufunc, Order order, bool weak)
    {
        push_loop<false, false, detail::list<T, T>, detail::list<T>>(
            ufunc, detail::choose_value<T, Order, Larger, UnorderedWins>{order}, weak);
    }

    template <class Order>
    void order_loops(Order order, bool weak)
    {
        using detail::comparison;
        compare_loop<Order, comparison::less>("less", order, weak);
        compare_loop<Order, comparison::less_equal>("less_equal", order, weak);
        compare_loop<Order, comparison::greater>("greater", order, weak);
        compare_loop<Order, comparison::greater_equal>("greater_equal", order, weak);
        compare_loop<Order, comparison::equal>("equal", order, weak);
        compare_loop<Order, comparison::not_equal>("not_equal", order, weak);
        if constexpr (copyable) {
            choose_loop<true, true>("maximum", order, weak);
            choose_loop<false, true>("minimum", order, weak);
            choose_loop<true, false>("fmax", order, weak);
            choose_loop<false, false>("fmin", order, weak);
        }
    }

    template <class Order>
    void set_order()
    {
        compare_ = &Order::compare;
        sort_ = &Order::sort;
        argsort_ = &Order::argsort;
        touch();
    }

    template <class Fused>
    Self &push_products(Fused &&fused)
    {
        static_assert(std::is_move_constructible_v<T>,
                      "denizen: linear_algebra() needs a T that can be moved");
        using code = detail::products<T, cell, stored<Fused>>;
        using shape = typename code::shape;
        void *context = keep(std::forward<Fused>(fused));
        const denizen_operand self{DENIZEN_OPERAND_SELF, 0, nullptr};
        const std::vector<denizen_operand> operands{self, self, self};
        push_entry({"matmul", operands, 2, &code::template run<shape::matmul>, context, false});
        push_entry({"vecdot", operands, 2, &code::template run<shape::vecdot>, context, false});
        push_entry({"matvec", operands, 2, &code::template run<shape::matvec>, context, false});
        push_entry({"vecmat", operands, 2, &code::template run<shape::vecmat>, context, false});
        return itself();
    }

    template <class Signature, bool MayAlias, class F>
    Self &signed_loop(const char *ufunc, F f)
    {
        using result = detail::remove_cvref<typename Signature::result>;
        using split =
            detail::split<detail::list<>, detail::list<>, typename Signature::arguments>;
        using read = typename split::read;
        using written = typename split::written;
        if constexpr (std::is_void_v<result>) {
            static_assert(written::size > 0,
                          "denizen: a callable without a result writes into its first parameters, "
                          "which are references that are not const");
            push_signed<true, MayAlias, read, written>(ufunc, std::move(f));
        } else {
            static_assert(written::size == 0,
                          "denizen: a callable that returns its result takes its inputs by value "
                          "or by const reference");
            static_assert(!MayAlias, "denizen: may_alias is said of callables that write their "
                                     "result into a parameter");
            using results = typename detail::returned<T, result>::types;
            if constexpr (results::size == 1 && !std::is_same_v<result, T> &&
                          !detail::is_builtin<result> && std::is_convertible_v<result, T>) {
                /* Another element type, or an expression template that becomes a T. */
                if (detail::handle_of<result>.element == nullptr) {
                    push_signed<false, false, read, detail::list<T>>(ufunc, std::move(f));
                    return itself();
                }
            }
            push_signed<false, false, read, results>(ufunc, std::move(f));
        }
        return itself();
    }

    template <bool Writes, bool MayAlias, class Read, class Written, class F>
    void push_signed(const char *ufunc, F f)
    {
        static_assert(detail::loop_for<T, cell, F, Writes, MayAlias, Read, Written>::has_self,
                      "denizen: one operand of a loop must be the element type itself");
        push_loop<Writes, MayAlias, Read, Written>(ufunc, std::move(f), false);
    }

    template <class From, class To, bool Writes, class F>
    Self &push_cast(casting level, F f)
    {
        using found =
            detail::loop_for<T, cell, F, Writes, false, detail::list<From>, detail::list<To>>;
        const std::vector<denizen_operand> operands = found::operands();
        detail::cast_entry entry{operands[0], operands[1], level, &found::code::run,
                                 keep(std::move(f))};
        for (detail::cast_entry &other : casts_) {
            if (detail::same_operand(other.from, entry.from) &&
                detail::same_operand(other.to, entry.to)) {
                other = entry;
                return itself();
            }
        }
        casts_.push_back(entry);
        return itself();
    }

    template <class F>
    void push_identity(const char *ufunc, F make)
    {
        detail::identity_entry entry{ufunc, &detail::construct_identity<T, cell, F>,
                                     keep(std::move(make))};
        for (detail::identity_entry &other : identities_) {
            if (other.ufunc == entry.ufunc) {
                other = entry;
                return;
            }
        }
        identities_.push_back(entry);
    }

    template <class F>
    void set_text(F &&f)
    {
        hooks_->to_text = keep(std::forward<F>(f));
        to_text_ = &conversions::template to_text<stored<F>>;
        text_codec_ = nullptr;
    }

    template <class P>
    void set_parse(P &&parse)
    {
        hooks_->from_text = keep(std::forward<P>(parse));
        from_text_ = &conversions::template from_text<stored<P>>;
    }

    std::string name_;
    std::string module_;
    std::string documentation_;
    denizen_element_flags flags_ = DENIZEN_ELEMENT_DESTROY_NEEDS_GIL;
    bool touched_ = false;
    std::vector<std::shared_ptr<void>> owners_;
    std::shared_ptr<detail::hooks> hooks_ = std::make_shared<detail::hooks>();
    std::vector<detail::loop_entry> loops_;
    std::vector<detail::cast_entry> casts_;
    std::vector<detail::identity_entry> identities_;
    detail::default_maker default_;
    detail::default_maker probe_;
    detail::zero_maker<T> zero_;
    PyObject *scalar_class_ = nullptr;
    denizen_construct_fn construct_ = nullptr;
    denizen_compare_fn compare_ = nullptr;
    denizen_sort_fn sort_ = nullptr;
    denizen_argsort_fn argsort_ = nullptr;
    denizen_sort_fn keyed_sort_ = nullptr;
    denizen_argsort_fn keyed_argsort_ = nullptr;
    denizen_nonzero_fn nonzero_ = nullptr;
    denizen_hash_fn hash_ = nullptr;
    denizen_heap_bytes_fn heap_bytes_ = nullptr;
    denizen_save_fn to_text_ = nullptr;
    denizen_load_fn from_text_ = nullptr;
    denizen_save_fn save_ = nullptr;
    denizen_load_fn load_ = nullptr;
    /** Checks that text gives the value back; NULL where the author said both directions. */
    denizen_save_fn text_codec_ = nullptr;
    denizen_to_python_fn to_python_ = nullptr;
    denizen_from_python_fn from_python_ = nullptr;
};

} // namespace detail
} // namespace denizen

#endif
