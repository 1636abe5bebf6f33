/*
 * Cells of one element type in any state: the runtime's rules of life, in a form that is short
 * and slow, over the functions of the vtable. What is vacant has vacancy bytes of zero; its other bytes are
 * nonsense.
 */
#ifndef DENIZEN_TESTING_CELLS_HPP
#define DENIZEN_TESTING_CELLS_HPP

#include <denizen/testing/memory.hpp>

#include <denizen/denizen.h>

#include <memory>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {
namespace detail {

/** How a batch function ended. */
struct outcome {
    bool ok = true;
    /** Elements before the failure. */
    std::size_t done = 0;
    std::string message;

    outcome after(std::size_t before) &&
    {
        done += before;
        return std::move(*this);
    }
};

/** A run of cells. */
struct run_of_cells {
    std::uint8_t *first;
    std::ptrdiff_t stride;
    std::size_t count;

    std::uint8_t *operator[](std::size_t index) const noexcept
    {
        return first + stride * static_cast<std::ptrdiff_t>(index);
    }
    run_of_cells part(std::size_t start, std::size_t length) const noexcept
    {
        return {(*this)[start], stride, length};
    }
};

/** The functions of an element type, checked for what they return. */
class cell_functions {
public:
    explicit cell_functions(const denizen_element_vtable &vtable) : vtable_(vtable)
    {
        check_vtable();
    }

    std::size_t size() const noexcept { return vtable_.size; }
    std::size_t align() const noexcept { return vtable_.align; }
    bool copyable() const noexcept { return vtable_.copy_construct != nullptr; }
    bool has_default() const noexcept { return zero_is_default() || vtable_.construct != nullptr; }
    bool zero_is_default() const noexcept { return vtable_.zero_bytes == DENIZEN_ZERO_DEFAULT; }
    bool live(const std::uint8_t *cell) const noexcept
    {
        return denizen_is_vacant(cell + vtable_.vacancy_offset, vtable_.vacancy_size) == 0;
    }
    /** A cell whose object is gone. */
    void vacate(std::uint8_t *cell) const noexcept
    {
        /* The bytes of a tagged object mean nothing beside its tag; all others are zero. */
        std::memset(cell, vtable_.storage == DENIZEN_STORAGE_TAGGED ? 0xdd : 0, size());
        std::memset(cell + vtable_.vacancy_offset, 0, vtable_.vacancy_size);
    }

    /** Default objects in vacant cells. */
    outcome construct(run_of_cells cells) const
    {
        if (vtable_.construct == nullptr) {
            return {cells.count == 0, 0, "no default value"};
        }
        return call(cells.count, [&](denizen_error *error_out) {
            return vtable_.construct(vtable_.context, cells.first, cells.stride, cells.count,
                                     error_out);
        });
    }
    /** Copies to vacant cells. */
    outcome copy_construct(run_of_cells to, run_of_cells from) const
    {
        if (!copyable()) {
            return {to.count == 0, 0, "not copyable"};
        }
        return call(to.count, [&](denizen_error *error_out) {
            return vtable_.copy_construct(vtable_.context, to.first, to.stride, from.first,
                                          from.stride, to.count, error_out);
        });
    }
    /** Copies to live cells; a type without assignment gets another object. */
    outcome assign(run_of_cells to, run_of_cells from) const
    {
        if (vtable_.assign != nullptr) {
            return call(to.count, [&](denizen_error *error_out) {
                return vtable_.assign(vtable_.context, to.first, to.stride, from.first,
                                      from.stride, to.count, error_out);
            });
        }
        for (std::size_t index = 0; index < to.count; index++) {
            outcome result = replace(to[index], from.part(index, 1));
            if (!result.ok) {
                return std::move(result).after(index);
            }
        }
        return {};
    }
    /** Ends what is live, all of it, away from its cell: nobody finds it there half gone. */
    outcome clear(run_of_cells cells) const
    {
        outcome result;
        for (std::size_t index = 0; index < cells.count; index++) {
            if (!zero_is_default() && !live(cells[index])) {
                continue;
            }
            spare aside(*this);
            std::memcpy(aside.cell(), cells[index], size());
            vacate(cells[index]);
            outcome ended = end({aside.cell(), 0, 1});
            if (!ended.ok && result.ok) {
                result = std::move(ended).after(index);
            }
        }
        return result;
    }
    /** Ends what is live, in batches where it lies. */
    outcome clear_in_place(run_of_cells cells) const
    {
        outcome result;
        stretches(cells.count, [&](std::size_t index) {
            return zero_is_default() || live(cells[index]);
        }, [&](std::size_t start, std::size_t length, bool live) {
            if (live) {
                outcome ended = end(cells.part(start, length));
                for (std::size_t index = start; index < start + length; index++) {
                    vacate(cells[index]);
                }
                if (!ended.ok && result.ok) {
                    result = std::move(ended).after(start);
                }
            }
            return true;
        });
        return result;
    }
    /** Fills vacant cells. */
    outcome materialise(run_of_cells cells) const
    {
        outcome result;
        if (zero_is_default()) {
            return result;
        }
        stretches(cells.count, [&](std::size_t index) { return live(cells[index]); },
                  [&](std::size_t start, std::size_t length, bool live) {
            if (!live) {
                result = construct(cells.part(start, length)).after(start);
            }
            return result.ok;
        });
        return result;
    }
    /** Copies cells in any state to cells in any state, in order: a live source is assigned to a live
     * destination or built in a vacant one, a vacant source empties it. */
    outcome copy(run_of_cells to, run_of_cells from) const
    {
        outcome result;
        if (!copyable()) {
            return {to.count == 0, 0, "not copyable"};
        }
        if (zero_is_default()) {
            return assign(to, from);
        }
        const auto state = [&](std::size_t index) {
            return 2 * live(from[index]) + live(to[index]);
        };
        stretches(to.count, state, [&](std::size_t start, std::size_t length, int states) {
            const run_of_cells target = to.part(start, length), source = from.part(start, length);
            result = (states == 3   ? assign(target, source)
                      : states == 2 ? copy_construct(target, source)
                                    : clear(target))
                         .after(start);
            return result.ok;
        });
        return result;
    }
    bool sorts() const noexcept { return vtable_.sort != nullptr; }
    /** Sorts contiguous cells. */
    outcome sort(run_of_cells cells) const
    {
        return call(cells.count, [&](denizen_error *error_out) {
            return vtable_.sort(vtable_.context, cells.first, cells.count, error_out);
        });
    }
    /** Moves one cell as bytes; what lived in the destination ends. */
    outcome relocate(std::uint8_t *to, std::uint8_t *from) const
    {
        spare old(*this);
        std::memcpy(old.cell(), to, size());
        std::memcpy(to, from, size());
        vacate(from);
        return zero_is_default() || live(old.cell()) ? end({old.cell(), 0, 1}) : outcome();
    }

    /** Memory for one cell outside of any segment; what is in it is not destroyed. */
    class spare {
    public:
        explicit spare(const cell_functions &functions)
            : memory_(std::malloc(functions.size() + functions.align())), size_(functions.size())
        {
            void *at = memory_.get();
            std::size_t room = functions.size() + functions.align();
            if (at == nullptr || std::align(functions.align(), size_, at, room) == nullptr) {
                std::abort();
            }
            cell_ = static_cast<std::uint8_t *>(at);
            functions.vacate(cell_);
        }
        spare(const spare &) = delete;
        spare &operator=(const spare &) = delete;
        ~spare() { std::memset(cell_, 0xdd, size_); }
        std::uint8_t *cell() const noexcept { return cell_; }

    private:
        struct free_block {
            void operator()(void *block) const noexcept { std::free(block); }
        };
        std::unique_ptr<void, free_block> memory_;
        std::size_t size_;
        std::uint8_t *cell_ = nullptr;
    };

    /** Runs a function of the type with its memory watched. */
    template <class F>
    static outcome call(std::size_t count, F &&function)
    {
        denizen_error error_out;
        error_out.struct_size = sizeof error_out;
        error_out.kind = 0;
        error_out.done = 0;
        error_out.message[0] = '\0';
        denizen_status status;
        {
            const armed watch;
            status = function(&error_out);
        }
        if (heap.broken != rule::none) {
            const rule broken = heap.broken;
            heap.broken = rule::none;
            fail(broken, heap.message);
        }
        if (status == DENIZEN_OK) {
            return {};
        }
        if (status != DENIZEN_FAILED || error_out.done > count ||
            std::memchr(error_out.message, 0, sizeof error_out.message) == nullptr) {
            fail(rule::contract, "a function returned status " + std::to_string(status) +
                                     ", done " + std::to_string(error_out.done) + " of " +
                                     std::to_string(count));
        }
        return {false, error_out.done, error_out.message};
    }

private:
    /* Splits cells into stretches of one state. */
    template <class State, class Use>
    static void stretches(std::size_t count, State &&state, Use &&use)
    {
        for (std::size_t start = 0; start < count;) {
            const auto here = state(start);
            std::size_t end = start + 1;
            while (end < count && state(end) == here) {
                end++;
            }
            if (!use(start, end - start, here)) {
                return;
            }
            start = end;
        }
    }
    outcome end(run_of_cells cells) const
    {
        if (vtable_.destroy == nullptr) {
            return {};
        }
        return call(cells.count, [&](denizen_error *error_out) {
            return vtable_.destroy(vtable_.context, cells.first, cells.stride, cells.count,
                                   error_out);
        });
    }
    outcome replace(std::uint8_t *to, run_of_cells from) const
    {
        if (to == from.first) {
            return {};
        }
        spare copy(*this);
        outcome result = copy_construct({copy.cell(), 0, 1}, from);
        if (!result.ok) {
            return result;
        }
        return relocate(to, copy.cell());
    }
    void check_vtable() const
    {
        const bool fits = vtable_.size > 0 && vtable_.align > 0 &&
                          vtable_.size % vtable_.align == 0 && vtable_.vacancy_size > 0 &&
                          vtable_.vacancy_offset + vtable_.vacancy_size <= vtable_.size;
        if (!fits || (vtable_.flags & DENIZEN_ELEMENT_TRIVIALLY_RELOCATABLE) == 0 ||
            vtable_.zero_bytes == DENIZEN_ZERO_NO_PROMISE) {
            fail(rule::contract, "the vtable describes no cell of a NumPy array");
        }
    }

    denizen_element_vtable vtable_;
};

} // namespace detail
} // namespace testing
} // namespace denizen

#endif
