/*
 * Sums of products: the loops of `matmul`, `vecdot`, `matvec` and `vecmat`. Sums go from left to
 * right; nothing is conjugated.
 */
#ifndef DENIZEN_CPP_PRODUCTS_HPP
#define DENIZEN_CPP_PRODUCTS_HPP

#include <denizen/cpp/operations.hpp>

#include <new>
#include <utility>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/** `sum += x * y` by T's operators. */
template <class T>
struct natural_fused {
    void operator()(T &sum, const T &x, const T &y) const
    {
        using product = multiplies_result<T>;
        if constexpr (is_detected<plus_assign_with, T, product>) {
            sum += x * y;
        } else if constexpr (has_plus_assign<T>) {
            sum += static_cast<T>(x * y);
        } else {
            sum = static_cast<T>(static_cast<const T &>(sum) + static_cast<T>(x * y));
        }
    }

    template <class A, class B>
    using plus_assign_with = decltype(std::declval<A &>() += std::declval<B>());
};

/** The neutral element of addition, where the author gave one. */
template <class T>
struct zero_maker {
    T (*make)(void *state) = nullptr;
    void *state = nullptr;
};
template <class T>
inline zero_maker<T> zero_of;

/* Cells of one operand along one dimension. */
struct strided {
    std::uint8_t *data;
    std::ptrdiff_t stride;
};

/* The sum while it grows. Unlike std::optional it may hold a T whose destructor throws. */
template <class T>
class holder {
public:
    holder() = default;
    holder(const holder &) = delete;
    holder &operator=(const holder &) = delete;
    ~holder()
    {
        if (object_ != nullptr) {
            destroy_quietly(object_);
        }
    }
    template <class Value>
    void emplace(Value &&value)
    {
        object_ = ::new (static_cast<void *>(bytes_)) T(std::forward<Value>(value));
    }
    T &operator*() noexcept { return *object_; }

private:
    alignas(T) unsigned char bytes_[sizeof(T)];
    T *object_ = nullptr;
};

template <class T, class Cell, class Fused>
class products {
public:
    enum class shape { matmul, vecdot, matvec, vecmat };

    template <shape Shape>
    static denizen_status run(void *context, std::uint8_t *const *arguments,
                              const std::ptrdiff_t *dimensions, const std::ptrdiff_t *strides,
                              denizen_error *error_out) noexcept
    {
        products code{*static_cast<Fused *>(context)};
        std::uint8_t *x = arguments[0], *y = arguments[1], *out = arguments[2];
        const std::ptrdiff_t *sizes = dimensions + 1, *core = strides + 3;
        std::size_t done = 0;
        const auto count = static_cast<std::size_t>(dimensions[0]);
        const denizen_status status = guarded(error_out, [&] {
            for (; done < count; done++) {
                code.template one<Shape>(x, y, out, sizes, core);
                x += strides[0];
                y += strides[1];
                out += strides[2];
            }
        });
        if (status != DENIZEN_OK) {
            error_out->done = done;
        }
        return status;
    }

private:
    explicit products(Fused &fused) : fused_(fused) {}

    static T start()
    {
        if (zero_of<T>.make != nullptr) {
            return zero_of<T>.make(zero_of<T>.state);
        }
        const char *name = handle_of<T>.name;
        throw error(error_kind::value, std::string(name != nullptr ? name : "the type") +
                                           " has no zero, which a sum of no products needs");
    }

    template <shape Shape>
    void one(std::uint8_t *x, std::uint8_t *y, std::uint8_t *out, const std::ptrdiff_t *sizes,
             const std::ptrdiff_t *core)
    {
        if constexpr (Shape == shape::vecdot) { /* (n),(n)->() */
            dot({x, core[0]}, {y, core[1]}, sizes[0], out);
        } else if constexpr (Shape == shape::matvec) { /* (m,n),(n)->(m) */
            for (std::ptrdiff_t i = 0; i < sizes[0]; i++) {
                dot({x + i * core[0], core[1]}, {y, core[2]}, sizes[1], out + i * core[3]);
            }
        } else if constexpr (Shape == shape::vecmat) { /* (n),(n,m)->(m) */
            for (std::ptrdiff_t j = 0; j < sizes[1]; j++) {
                dot({x, core[0]}, {y + j * core[2], core[1]}, sizes[0], out + j * core[3]);
            }
        } else { /* (m,n),(n,p)->(m,p) */
            for (std::ptrdiff_t i = 0; i < sizes[0]; i++) {
                for (std::ptrdiff_t j = 0; j < sizes[2]; j++) {
                    dot({x + i * core[0], core[1]}, {y + j * core[3], core[2]}, sizes[1],
                        out + i * core[4] + j * core[5]);
                }
            }
        }
    }

    void dot(strided x, strided y, std::ptrdiff_t count, std::uint8_t *out)
    {
        holder<T> sum;
        constexpr bool multiplies = std::is_invocable_r_v<T, Fused &, const T &, const T &>;
        if constexpr (multiplies || has_multiplies<T>) {
            /* The first product starts the sum: no zero is needed, and NumPy starts there too. */
            if (count == 0) {
                sum.emplace(start());
            } else {
                if constexpr (multiplies) {
                    sum.emplace(fused_(x_.get(x.data), y_.get(y.data)));
                } else {
                    sum.emplace(x_.get(x.data) * y_.get(y.data));
                }
                x.data += x.stride;
                y.data += y.stride;
                count--;
            }
        } else {
            sum.emplace(start());
        }
        for (; count > 0; count--) {
            fused_(*sum, x_.get(x.data), y_.get(y.data));
            x.data += x.stride;
            y.data += y.stride;
        }
        put<T, Cell>(out, [&]() -> T && { return std::move(*sum); });
    }

    Fused &fused_;
    cell_input<T, Cell> x_, y_;
};

} // namespace detail
} // namespace denizen

#endif
