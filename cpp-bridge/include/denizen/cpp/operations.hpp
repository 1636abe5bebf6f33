/*
 * Life and death: the batch functions of the vtable that build, copy and end objects. The runtime
 * knows the state of every cell that it passes to them.
 */
#ifndef DENIZEN_CPP_OPERATIONS_HPP
#define DENIZEN_CPP_OPERATIONS_HPP

#include <denizen/cpp/loops.hpp>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/** The author's functions on single values: pointers to callables, NULL where there is none. */
struct hooks {
    void *compare = nullptr;
    void *nonzero = nullptr;
    void *hash = nullptr;
    void *heap_bytes = nullptr;
    void *to_text = nullptr;
    void *from_text = nullptr;
    void *save = nullptr;
    void *load = nullptr;
    void *to_python = nullptr;
    void *from_python = nullptr;
    void *fused = nullptr;
    void *sort_key = nullptr;
    /** The comparison of the vtable, for equal sort keys. */
    denizen_compare_fn compare_cells = nullptr;
};

/** Runs `step(index)` for each element and notes how far it came. */
template <class Step>
inline denizen_status batch(denizen_error *error_out, std::size_t count, Step &&step) noexcept
{
    std::size_t done = 0;
    const denizen_status status = guarded(error_out, [&] {
        for (; done < count; done++) {
            step();
        }
    });
    if (status != DENIZEN_OK) {
        error_out->done = done;
    }
    return status;
}

template <class T, class Cell>
struct operations {
    /** `T()` in vacant cells. */
    static denizen_status construct(void *, std::uint8_t *cells, std::ptrdiff_t stride,
                                    std::size_t count, denizen_error *error_out) noexcept
    {
        return batch(error_out, count, [&] {
            Cell::emplace(cells);
            cells += stride;
        });
    }

    /** The author's default value in vacant cells. */
    template <class F>
    static denizen_status construct_with(void *, std::uint8_t *cells, std::ptrdiff_t stride,
                                         std::size_t count, denizen_error *error_out) noexcept
    {
        F &make = *static_cast<F *>(default_of<T>.state);
        return batch(error_out, count, [&] {
            Cell::emplace_from(cells, [&]() -> T { return make(); });
            cells += stride;
        });
    }

    /** Copies to vacant cells. */
    static denizen_status copy_construct(void *, std::uint8_t *to, std::ptrdiff_t to_stride,
                                         const std::uint8_t *from, std::ptrdiff_t from_stride,
                                         std::size_t count, denizen_error *error_out) noexcept
    {
        return batch(error_out, count, [&] {
            Cell::emplace(to, *Cell::object(from));
            to += to_stride;
            from += from_stride;
        });
    }

    /** Copies to live cells. */
    static denizen_status assign(void *, std::uint8_t *to, std::ptrdiff_t to_stride,
                                 const std::uint8_t *from, std::ptrdiff_t from_stride,
                                 std::size_t count, denizen_error *error_out) noexcept
    {
        return batch(error_out, count, [&] {
            *Cell::object(to) = *Cell::object(from);
            to += to_stride;
            from += from_stride;
        });
    }

    /** Ends objects: all of them, even where a destructor throws. The first failure is told. */
    static denizen_status destroy(void *, std::uint8_t *cells, std::ptrdiff_t stride,
                                  std::size_t count, denizen_error *error_out) noexcept
    {
        if constexpr (std::is_nothrow_destructible_v<T>) {
            (void)error_out;
            for (std::size_t index = 0; index < count; index++, cells += stride) {
                Cell::destroy(cells);
            }
            return DENIZEN_OK;
        } else {
            denizen_status outcome = DENIZEN_OK;
            denizen_error later;
            for (std::size_t index = 0; index < count; index++, cells += stride) {
                denizen_error *target = outcome == DENIZEN_OK ? error_out : &later;
                const denizen_status status = guarded(target, [&] { Cell::destroy(cells); });
                if (status == DENIZEN_OK) {
                    continue;
                }
                if (outcome == DENIZEN_OK) {
                    outcome = status;
                    error_out->done = index;
                } else if (status == DENIZEN_RAISED && outcome != DENIZEN_RAISED) {
                    /* The denizen_error speaks for the first failure, not this exception. */
                    PyErr_Clear();
                }
            }
            return outcome;
        }
    }

    /** Truth of values. */
    template <class F>
    static denizen_status nonzero(void *context, const std::uint8_t *cells, std::ptrdiff_t stride,
                                  std::size_t count, std::uint8_t *results,
                                  std::ptrdiff_t result_stride, denizen_error *error_out) noexcept
    {
        F &truth = *static_cast<F *>(static_cast<hooks *>(context)->nonzero);
        cell_input<T, Cell> input;
        return batch(error_out, count, [&] {
            *results = static_cast<bool>(truth(input.get(cells))) ? 1 : 0;
            cells += stride;
            results += result_stride;
        });
    }

    /** Owned heap bytes; a vacant cell owns none, a boxed object is heap itself. */
    template <class F>
    static denizen_status heap_bytes(void *context, const std::uint8_t *cells,
                                     std::ptrdiff_t stride, std::size_t count,
                                     std::size_t *bytes) noexcept
    {
        F &owned = *static_cast<F *>(static_cast<hooks *>(context)->heap_bytes);
        constexpr std::size_t own = Cell::stored_as == storage::boxed ? sizeof(T) : 0;
        denizen_error error_out;
        return batch(&error_out, count, [&] {
            if (!Cell::vacant(cells)) {
                *bytes += own + static_cast<std::size_t>(owned(*Cell::object(cells)));
            }
            cells += stride;
        });
    }

    /** Hash of one value. */
    template <class F>
    static denizen_status hash(void *context, const std::uint8_t *cell, std::int64_t *result,
                               denizen_error *error_out) noexcept
    {
        F &function = *static_cast<F *>(static_cast<hooks *>(context)->hash);
        return guarded(error_out, [&] {
            cell_input<T, Cell> input;
            const auto value = static_cast<std::int64_t>(function(input.get(cell)));
            /* Python keeps -1 for errors. */
            *result = value == -1 ? -2 : value;
        });
    }
};

/** A value that the author gave, built in vacant cells. */
template <class T, class Cell, class F>
inline denizen_status construct_identity(void *context, std::uint8_t *cells, std::ptrdiff_t stride,
                                         std::size_t count, denizen_error *error_out) noexcept
{
    F &make = *static_cast<F *>(context);
    return batch(error_out, count, [&] {
        Cell::emplace_from(cells, [&]() -> T { return make(); });
        cells += stride;
    });
}

} // namespace detail
} // namespace denizen

#endif
