/*
 * Comparison, sort and argsort.
 *
 * The sort is a stable merge sort that moves cells as bytes. It merges from one buffer into the
 * other, so that when a comparison throws, one of them still holds every cell: whatever happens,
 * the cells afterwards are a permutation of those before.
 */
#ifndef DENIZEN_CPP_ORDER_HPP
#define DENIZEN_CPP_ORDER_HPP

#include <denizen/cpp/operations.hpp>

#include <optional>
#include <vector>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/** The order of `<`. Values that are not equal to themselves (NaN) come last. */
template <class T>
struct natural_order {
    static bool unordered(const T &value)
    {
        if constexpr (has_equal<T>) {
            return !static_cast<bool>(value == value);
        } else {
            (void)value;
            return false;
        }
    }
    bool less(const T &left, const T &right) const { return static_cast<bool>(left < right); }
    bool less_equal(const T &left, const T &right) const
    {
        if constexpr (has_less_equal<T>) {
            return static_cast<bool>(left <= right);
        } else if constexpr (has_equal<T>) {
            return static_cast<bool>(left < right) || static_cast<bool>(left == right);
        } else {
            return !static_cast<bool>(right < left);
        }
    }
    bool equal(const T &left, const T &right) const
    {
        if constexpr (has_equal<T>) {
            return static_cast<bool>(left == right);
        } else {
            return !static_cast<bool>(left < right) && !static_cast<bool>(right < left);
        }
    }
};

/* What a three-way comparison says: less, equal, greater, or nothing. A number, an optional
 * number (nothing: unordered), or a C++20 ordering. */
enum class relation { less, equal, greater, unordered };

template <class R>
inline relation as_relation(const R &result)
{
    if (result < 0) {
        return relation::less;
    }
    if (result > 0) {
        return relation::greater;
    }
    return result == 0 ? relation::equal : relation::unordered;
}
template <class R>
inline relation as_relation(const std::optional<R> &result)
{
    return result.has_value() ? as_relation(*result) : relation::unordered;
}

/** The order of the author's three-way comparison. Unordered values come last. */
template <class T, class F>
struct given_order {
    F &compare;

    relation of(const T &left, const T &right) const { return as_relation(compare(left, right)); }
    bool unordered(const T &value) const { return of(value, value) == relation::unordered; }
    bool less(const T &left, const T &right) const { return of(left, right) == relation::less; }
    bool less_equal(const T &left, const T &right) const
    {
        const relation found = of(left, right);
        return found == relation::less || found == relation::equal;
    }
    bool equal(const T &left, const T &right) const { return of(left, right) == relation::equal; }
};

/** -1, 0 or 1 in the total order that puts unordered values last. */
template <class T, class Order>
inline int three_way(const Order &order, const T &left, const T &right)
{
    if (order.less(left, right)) {
        return -1;
    }
    if (order.less(right, left)) {
        return 1;
    }
    return static_cast<int>(order.unordered(left)) - static_cast<int>(order.unordered(right));
}

/* ---- the merge sort ------------------------------------------------------------------------- */


/** Sorts runs by insertion. The item on its way is put back where `before` throws. */
template <std::size_t Size, class Before>
inline void insertion_sort(std::uint8_t *first, std::size_t count, Before &before)
{
    struct traveller {
        alignas(16) std::uint8_t bytes[Size];
        std::uint8_t *hole;
        ~traveller() { std::memcpy(hole, bytes, Size); }
    };
    for (std::size_t index = 1; index < count; index++) {
        std::uint8_t *item = first + index * Size;
        if (!before(item, item - Size)) {
            continue;
        }
        traveller held;
        std::memcpy(held.bytes, item, Size);
        held.hole = item;
        do {
            std::memcpy(held.hole, held.hole - Size, Size);
            held.hole -= Size;
        } while (held.hole != first && before(held.bytes, held.hole - Size));
    }
}

template <std::size_t Size, class Before>
inline void merge(const std::uint8_t *left, const std::uint8_t *middle, const std::uint8_t *end,
                  std::uint8_t *to, Before &before)
{
    const std::uint8_t *right = middle;
    if (left == middle || right == end || !before(right, middle - Size)) {
        std::memcpy(to, left, static_cast<std::size_t>(end - left));
        return;
    }
    /* Which side is next is a matter of chance, so it is computed and not branched on. */
    while (left != middle && right != end) {
        const bool from_right = before(right, left);
        std::memcpy(to, from_right ? right : left, Size);
        to += Size;
        right += from_right ? Size : 0;
        left += from_right ? 0 : Size;
    }
    std::memcpy(to, left, static_cast<std::size_t>(middle - left));
    std::memcpy(to + (middle - left), right, static_cast<std::size_t>(end - right));
}

/**
 * Sorts `count` items of `Size` bytes, stably. `before(x, y)`: whether x must come before y; it
 * gets addresses of items, which may be copies of the bytes elsewhere.
 */
template <std::size_t Size, class Before>
inline void merge_sort(std::uint8_t *data, std::size_t count, Before &&before)
{
    constexpr std::size_t run = 12;
    for (std::size_t start = 0; start < count; start += run) {
        insertion_sort<Size>(data + start * Size, count - start < run ? count - start : run,
                             before);
    }
    if (count <= run) {
        return;
    }
    /* Where a merge throws, `source` is the buffer that still holds everything. */
    struct buffers {
        std::uint8_t *data, *source;
        std::size_t bytes;
        void *memory;
        ~buffers()
        {
            if (source != data) {
                std::memcpy(data, source, bytes);
            }
            ::operator delete(memory);
        }
    } state{data, data, count * Size, ::operator new(count * Size)};
    std::uint8_t *target = static_cast<std::uint8_t *>(state.memory);
    for (std::size_t width = run; width < count; width *= 2) {
        for (std::size_t start = 0; start < count; start += 2 * width) {
            const std::size_t middle = count - start < width ? count : start + width;
            const std::size_t end = count - start < 2 * width ? count : start + 2 * width;
            merge<Size>(state.source + start * Size, state.source + middle * Size,
                        state.source + end * Size, target + start * Size, before);
        }
        std::swap(state.source, target);
    }
}

/* ---- the functions of the vtable ------------------------------------------------------------ */

/* Makes the order of a type: from T alone, or from its comparison hook. */
template <class T>
struct make_natural_order {
    static natural_order<T> make(void *) { return {}; }
};
template <class T, class F>
struct make_given_order {
    static given_order<T, F> make(void *context)
    {
        return {*static_cast<F *>(static_cast<hooks *>(context)->compare)};
    }
};

template <class T, class Cell, class MakeOrder>
struct ordering {
    static denizen_status compare(void *context, const std::uint8_t *left,
                                  const std::uint8_t *right, std::int32_t *result,
                                  denizen_error *error_out) noexcept
    {
        return guarded(error_out, [&] {
            cell_input<T, Cell> left_input, right_input;
            *result = three_way<T>(MakeOrder::make(context), left_input.get(left),
                                   right_input.get(right));
        });
    }

    static denizen_status sort(void *context, std::uint8_t *cells, std::size_t count,
                               denizen_error *error_out) noexcept
    {
        return guarded(error_out, [&] {
            cell_input<T, Cell> input;
            const auto order = MakeOrder::make(context);
            bool all_ordered = true;
            for (std::size_t index = 0; index < count && all_ordered; index++) {
                all_ordered = !order.unordered(input.get(cells + index * Cell::size));
            }
            if (all_ordered) {
                merge_sort<Cell::size>(cells, count,
                                       [&](const std::uint8_t *left, const std::uint8_t *right) {
                                           return order.less(input.get(left), input.get(right));
                                       });
            } else {
                merge_sort<Cell::size>(
                    cells, count, [&](const std::uint8_t *left, const std::uint8_t *right) {
                        return three_way<T>(order, input.get(left), input.get(right)) < 0;
                    });
            }
        });
    }

    static denizen_status argsort(void *context, const std::uint8_t *cells, std::ptrdiff_t stride,
                                  std::size_t count, std::ptrdiff_t *indices,
                                  denizen_error *error_out) noexcept
    {
        return guarded(error_out, [&] {
            cell_input<T, Cell> input;
            const auto order = MakeOrder::make(context);
            const auto value = [&](const std::uint8_t *item) -> const T & {
                std::ptrdiff_t index;
                std::memcpy(&index, item, sizeof index);
                return input.get(cells + index * stride);
            };
            bool all_ordered = true;
            for (std::size_t index = 0; index < count && all_ordered; index++) {
                all_ordered =
                    !order.unordered(input.get(cells + static_cast<std::ptrdiff_t>(index) * stride));
            }
            auto *items = reinterpret_cast<std::uint8_t *>(indices);
            if (all_ordered) {
                merge_sort<sizeof(std::ptrdiff_t)>(
                    items, count, [&](const std::uint8_t *left, const std::uint8_t *right) {
                        return order.less(value(left), value(right));
                    });
            } else {
                merge_sort<sizeof(std::ptrdiff_t)>(
                    items, count, [&](const std::uint8_t *left, const std::uint8_t *right) {
                        return three_way<T>(order, value(left), value(right)) < 0;
                    });
            }
        });
    }
};

/**
 * Sort and argsort by keys: numbers that order most pairs of values, computed once for each, and
 * compared without looking at the values. Where keys are equal the comparison of the type decides.
 * Nothing is moved before all comparisons are done.
 */
template <class T, class Cell, class F>
struct keyed_ordering {
    using key = remove_cvref<std::invoke_result_t<F &, const T &>>;
    struct item {
        key value;
        std::ptrdiff_t index;
    };

    static denizen_status sort(void *context, std::uint8_t *cells, std::size_t count,
                               denizen_error *error_out) noexcept
    {
        return guarded(error_out, [&] {
            const std::vector<item> items = sorted(context, cells, Cell::size, count);
            std::vector<std::uint8_t> moved(count * Cell::size);
            std::uint8_t *to = moved.data();
            for (const item &next : items) {
                std::memcpy(to, cells + next.index * static_cast<std::ptrdiff_t>(Cell::size),
                            Cell::size);
                to += Cell::size;
            }
            if (count > 0) {
                std::memcpy(cells, moved.data(), moved.size());
            }
        });
    }

    static denizen_status argsort(void *context, const std::uint8_t *cells, std::ptrdiff_t stride,
                                  std::size_t count, std::ptrdiff_t *indices,
                                  denizen_error *error_out) noexcept
    {
        return guarded(error_out, [&] {
            for (const item &next : sorted(context, cells, stride, count)) {
                *indices++ = next.index;
            }
        });
    }

private:
    static std::vector<item> sorted(void *context, const std::uint8_t *cells,
                                    std::ptrdiff_t stride, std::size_t count)
    {
        const hooks &known = *static_cast<hooks *>(context);
        F &key_of = *static_cast<F *>(known.sort_key);
        std::vector<item> items;
        items.reserve(count);
        cell_input<T, Cell> input;
        for (std::ptrdiff_t index = 0; index < static_cast<std::ptrdiff_t>(count); index++) {
            items.push_back({key_of(input.get(cells + index * stride)), index});
        }
        const auto before = [&](const std::uint8_t *left, const std::uint8_t *right) {
            item x, y;
            std::memcpy(&x, left, sizeof x);
            std::memcpy(&y, right, sizeof y);
            if (x.value != y.value) {
                return x.value < y.value;
            }
            return compare(known, cells + x.index * stride, cells + y.index * stride) < 0;
        };
        merge_sort<sizeof(item)>(reinterpret_cast<std::uint8_t *>(items.data()), count, before);
        return items;
    }

    static std::int32_t compare(const hooks &known, const std::uint8_t *left,
                                const std::uint8_t *right)
    {
        denizen_error error_out;
        error_out.struct_size = sizeof error_out;
        error_out.kind = DENIZEN_ERROR_RUNTIME;
        error_out.message[0] = '\0';
        std::int32_t result = 0;
        if (known.compare_cells(const_cast<hooks *>(&known), left, right, &result, &error_out) !=
            DENIZEN_OK) {
            throw error(static_cast<error_kind>(error_out.kind), error_out.message);
        }
        return result;
    }
};

/* ---- the loops ------------------------------------------------------------------------------ */

enum class comparison { less, less_equal, greater, greater_equal, equal, not_equal };

/** One of the six comparisons, with an order that needs no context or carries it. */
template <class T, class Order, comparison Which>
struct compare_values {
    Order order;
    bool operator()(const T &left, const T &right)
    {
        if constexpr (Which == comparison::less) {
            return order.less(left, right);
        } else if constexpr (Which == comparison::less_equal) {
            return order.less_equal(left, right);
        } else if constexpr (Which == comparison::greater) {
            return order.less(right, left);
        } else if constexpr (Which == comparison::greater_equal) {
            return order.less_equal(right, left);
        } else if constexpr (Which == comparison::equal) {
            return order.equal(left, right);
        } else {
            return !order.equal(left, right);
        }
    }
};

/**
 * The larger or smaller of two values, the first of equal ones. An unordered value wins
 * (`maximum`, `minimum`) or loses (`fmax`, `fmin`).
 */
template <class T, class Order, bool Larger, bool UnorderedWins>
struct choose_value {
    Order order;
    const T &operator()(const T &left, const T &right)
    {
        if (order.unordered(left)) {
            return UnorderedWins ? left : right;
        }
        if (order.unordered(right)) {
            return UnorderedWins ? right : left;
        }
        if constexpr (Larger) {
            return order.less(left, right) ? right : left;
        } else {
            return order.less(right, left) ? right : left;
        }
    }
};

} // namespace detail
} // namespace denizen

#endif
