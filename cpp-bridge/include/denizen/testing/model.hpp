/*
 * Segments of cells, and what must be in them: after every step each cell holds the value that was
 * written to it last, or nothing.
 */
#ifndef DENIZEN_TESTING_MODEL_HPP
#define DENIZEN_TESTING_MODEL_HPP

#include <denizen/testing/model_segment.hpp>
#include <denizen/testing/reduced.hpp>
#include <denizen/testing/values.hpp>

#include <algorithm>
#include <optional>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {
namespace detail {

/** Runs sequences on one element type. */
class model {
    using state = expected::state;

public:
    /** The vtable, and what else there is of the type. */
    model(const denizen_element_vtable &vtable, value_functions &values)
        : functions_(vtable), assigns_(vtable.assign != nullptr), values_(values)
    {
    }
    model(const model &) = delete;
    model &operator=(const model &) = delete;
    /** Where a run was broken off, nobody can say whether its objects can be destroyed: they stay,
     * and are no leak. */
    ~model()
    {
        static auto *const kept = new std::vector<std::unique_ptr<segment>>;
        for (std::unique_ptr<segment> &left : slots_) {
            if (left != nullptr) {
                kept->push_back(std::move(left));
            }
        }
    }

    /** Runs the operations and frees everything. */
    void run(const std::vector<operation> &operations)
    {
        for (now.step = 0; now.step < operations.size(); now.step++) {
            const operation &step = operations[now.step];
            switch (step.what) {
            case op::fail_allocation: heap.countdown = step.numbers[0]; break;
            case op::fail_element:
                if (values_.is_fault_injected) {
                    planned.countdown = step.numbers[0];
                    planned.odd = step.numbers[1] != 0;
                } else {
                    /* All that can fail in a T that is not told to. */
                    heap.countdown = step.numbers[0];
                }
                break;
            case op::fail_destructor: planned.destructor_countdown = step.numbers[0]; break;
            default:
                perform(step);
                cancel_plans();
            }
        }
        cancel_plans();
        for (std::size_t slot = 0; slot < slots; slot++) {
            free(slot);
        }
    }

    static void cancel_plans() noexcept
    {
        heap.countdown = -1;
        planned = fault_plan();
    }

private:
    /* Cells of one segment, and where to in another. */
    struct range {
        std::size_t slot, start, count, to, offset;
    };

    void perform(const operation &step)
    {
        const auto &n = step.numbers;
        const range run{n[0] % slots, n[1], n[2], n[3], n[4]};
        switch (step.what) {
        case op::allocate: allocate(run.slot, n[1], n[2]); return;
        case op::resize: resize(run.slot, n[1], n[2]); break;
        case op::construct: construct(run); break;
        case op::materialise: materialise(run); break;
        case op::destroy: destroy(run); break;
        case op::set: set(run, 0); break;
        case op::put: set(run, 1); break;
        case op::compute: compute(run); break;
        case op::sort: sort(run); break;
        case op::loop: loop(run); break;
        case op::copy: copy(run); break;
        case op::relocate: relocate(run); break;
        case op::permute: permute(run); break;
        case op::clear: clear(run.slot); break;
        case op::free: free(run.slot); return;
        default: return;
        }
        check(run.slot);
    }

    // ---- checks --------------------------------------------------------------------------------

    bool live(const segment &in, std::size_t index) const
    {
        return functions_.live(in.cells()[index]);
    }

    static std::string place(std::size_t index, std::size_t slot)
    {
        return "cell " + std::to_string(index) + " of segment " + std::to_string(slot);
    }

    void check(std::size_t slot)
    {
        const segment *in = slots_[slot].get();
        if (in == nullptr) {
            return;
        }
        in->check_canaries();
        for (std::size_t index = 0; index < in->count(); index++) {
            check_cell(*in, index, slot);
        }
    }

    void check_cell(const segment &in, std::size_t index, std::size_t slot)
    {
        const expected &wanted = in.content[index];
        const std::uint8_t *at = in.cells()[index];
        const bool live = functions_.live(at);
        if (!functions_.zero_is_default()) {
            if (live && wanted.is == state::vacant) {
                fail(rule::value, place(index, slot) + " holds an object, and nobody built one");
            }
            if (!live && wanted.is != state::vacant) {
                fail(rule::zero_is_vacant,
                     place(index, slot) + ": a live object has vacancy bytes of zero. Is the "
                                          "promise denizen::zero_bytes (zero::vacant, never_zero) "
                                          "false?");
            }
            if (!live) {
                return;
            }
        }
        if (values_.points_into_itself(at)) {
            fail(rule::relocatable,
                 place(index, slot) + ": an object points into itself, so it cannot be moved as "
                                      "bytes: the promise denizen::is_trivially_relocatable is "
                                      "false");
        }
        if (wanted.is == state::unknown) {
            return;
        }
        const std::uint32_t number = wanted.is == state::value ? wanted.number : default_number;
        if (values_.differs(at, number)) {
            const bool is_default = number == default_number;
            const std::string what = is_default ? std::string("the default value")
                                                : values_.name(number);
            if (is_default && !live && functions_.zero_is_default()) {
                fail(rule::zero_is_default,
                     place(index, slot) + ": zero bytes differ from the default value: the promise "
                                          "denizen::zero_bytes, zero::default_value, is false");
            }
            fail(rule::value, place(index, slot) + " should hold " + what + ", and does not");
        }
    }

    /* Notes the outcome of a step that should have written `wanted` to the cells `order`, in order.
     * The cell where it failed is as it was, or if `loose` and live, an object of any value. */
    void settle(segment &in, const outcome &result, const std::vector<std::size_t> &order,
                const std::vector<expected> &wanted, bool loose)
    {
        for (std::size_t position = 0; position < order.size(); position++) {
            expected &content = in.content[order[position]];
            const bool object = functions_.zero_is_default() || live(in, order[position]);
            if (result.ok || position < result.done) {
                content = wanted[position];
            } else if (!object && (!values_.ends_quietly || (position == result.done && loose))) {
                /* A destructor threw, here or in a batch that ended all the same; or the old object
                 * had gone when the new one failed. */
                content = expected();
            } else if (position == result.done && loose &&
                       (functions_.zero_is_default() || content.is != state::vacant)) {
                content = {state::unknown, 0};
            } else if (!values_.ends_quietly && content.is == state::vacant) {
                content = object ? wanted[position] : expected();
            }
        }
    }

    // ---- steps ---------------------------------------------------------------------------------

    void allocate(std::size_t slot, std::size_t count, std::size_t flags)
    {
        free(slot);
        static constexpr std::size_t aligns[] = {1, 64, 128, 4096};
        slots_[slot] = segment::allocate(functions_, count % most_cells, aligns[flags & 3],
                                         (flags >> 5) % functions_.size());
    }

    void free(std::size_t slot)
    {
        if (slots_[slot] == nullptr) {
            return;
        }
        /* Zero bytes are forgotten, also where they are a value. */
        const segment &in = *slots_[slot];
        for (std::size_t index = 0; index < in.count(); index++) {
            if (live(in, index)) {
                accept_destructor(functions_.clear(in.cells().part(index, 1)));
            }
        }
        in.check_canaries();
        slots_[slot].reset();
    }

    void resize(std::size_t slot, std::size_t count, std::size_t extra)
    {
        if (slots_[slot] == nullptr) {
            return;
        }
        segment &old = *slots_[slot];
        count %= most_cells;
        auto fresh =
            segment::allocate(functions_, count, old.align(), extra % functions_.size());
        if (fresh == nullptr) {
            return;
        }
        const std::size_t kept = std::min(count, old.count());
        accept_destructor(
            functions_.clear_in_place(old.cells().part(kept, old.count() - kept)));
        for (std::size_t index = 0; index < kept; index++) {
            std::memcpy(fresh->cells()[index], old.cells()[index], functions_.size());
            fresh->content[index] = old.content[index];
        }
        old.check_canaries();
        slots_[slot] = std::move(fresh);
    }

    void construct(const range &run)
    {
        segment *in = slots_[run.slot].get();
        if (in == nullptr) {
            return;
        }
        const auto [start, count] = inside(run, in->count());
        for (std::size_t index = start; index < start + count; index++) {
            if (live(*in, index)) {
                return;
            }
        }
        settle_defaults(*in, functions_.construct(in->cells().part(start, count)), start, count);
    }

    void materialise(const range &run)
    {
        segment *in = slots_[run.slot].get();
        if (in == nullptr) {
            return;
        }
        const auto [start, count] = inside(run, in->count());
        settle_defaults(*in, functions_.materialise(in->cells().part(start, count)), start, count);
    }

    void settle_defaults(segment &in, const outcome &result, std::size_t start, std::size_t count)
    {
        std::vector<std::size_t> order;
        std::vector<expected> wanted;
        for (std::size_t index = start; index < start + count; index++) {
            order.push_back(index);
            const expected &old = in.content[index];
            wanted.push_back(old.is == state::vacant ? expected{state::value, default_number} : old);
        }
        settle(in, result, order, wanted, false);
    }

    void destroy(const range &run)
    {
        if (segment *in = slots_[run.slot].get()) {
            const auto [start, count] = inside(run, in->count());
            const run_of_cells cells = in->cells().part(start, count);
            accept_destructor(run.to % 2 == 0 ? functions_.clear(cells)
                                              : functions_.clear_in_place(cells));
            std::fill_n(in->content.begin() + static_cast<std::ptrdiff_t>(start), count,
                        expected());
        }
    }

    void clear(std::size_t slot)
    {
        if (segment *in = slots_[slot].get()) {
            accept_destructor(functions_.clear(in->cells()));
            std::fill(in->content.begin(), in->content.end(), expected());
        }
    }

    void accept_destructor(const outcome &result) const
    {
        if (!result.ok && values_.ends_quietly) {
            fail(rule::contract, "destroy failed, and the destructor throws nothing: " +
                                     result.message);
        }
    }

    /* Values number `offset`, and `apart` more from cell to cell. */
    void set(const range &run, std::size_t apart)
    {
        segment *in = slots_[run.slot].get();
        if (in == nullptr) {
            return;
        }
        const auto [start, count] = inside(run, in->count());
        for (std::size_t index = start; index < start + count; index++) {
            const std::uint32_t number =
                static_cast<std::uint16_t>(run.offset + apart * (index - start));
            bool made = false;
            const outcome result = write(in->cells().part(index, 1), number, run.to % 3, made);
            settle(*in, result, {index}, {{state::value, number}}, made);
            if (!result.ok) {
                return;
            }
        }
    }

    /* Writes one value into a cell in any state: as a copy, as a result of a function, or moved. */
    outcome write(run_of_cells to, std::uint32_t number, std::size_t way, bool &made)
    {
        if (way != 0 || !functions_.copyable()) {
            return values_.put(to.first, number, way == 2, made);
        }
        const cell_functions::spare spare(functions_);
        outcome result = values_.build(spare.cell(), number);
        if (result.ok) {
            made = assigns_;
            const run_of_cells source{spare.cell(), 0, 1};
            result = functions_.copy(to, source);
            accept_destructor(functions_.clear(source));
        }
        return result;
    }

    void loop(const range &run)
    {
        segment *in = slots_[run.slot].get();
        if (in == nullptr || in->count() == 0) {
            return;
        }
        /* A start, a stride from -7 to 7 cells, and as many cells as fit. */
        const std::size_t start = run.start % in->count();
        const std::ptrdiff_t stride = stride_of(static_cast<std::uint32_t>(run.to));
        const std::size_t count = run.count % (room_of(start, in->count(), stride) + 1);
        const auto number = static_cast<std::uint32_t>(run.offset >> 8);
        const outcome result =
            values_.loop({in->cells()[start], stride * static_cast<std::ptrdiff_t>(functions_.size()),
                      count},
                     number, (run.to & 8) != 0);
        std::vector<std::size_t> order;
        for (std::size_t index = 0; index < count; index++) {
            order.push_back(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(start) +
                                                     stride * static_cast<std::ptrdiff_t>(index)));
        }
        settle(*in, result, order, std::vector<expected>(count, {state::value, number}), true);
    }

    /* The loop of a callable that returns its first input, which is copied to where the second one
     * is: from one segment to another, or within one. */
    void compute(const range &run)
    {
        const std::optional<pair> both = pair_of(run);
        if (!both || both->one_by_one || !values_.computes) {
            return;
        }
        const outcome result =
            values_.compute(both->to->cells().part(both->offset, both->count),
                            both->from->cells().part(both->start, both->count));
        std::vector<std::size_t> order;
        std::vector<expected> wanted;
        for (std::size_t index = 0; index < both->count; index++) {
            const expected &source = both->from->content[both->start + index];
            order.push_back(both->offset + index);
            wanted.push_back(source.is == state::vacant ? expected{state::value, default_number}
                                                        : source);
        }
        settle(*both->to, result, order, wanted, true);
        check(run.to % slots);
    }

    /* The sort of the vtable: whatever happens, the cells are those of before in another order. */
    void sort(const range &run)
    {
        segment *in = slots_[run.slot].get();
        if (in == nullptr || !functions_.sorts()) {
            return;
        }
        const auto [start, count] = inside(run, in->count());
        functions_.sort(in->cells().part(start, count));
        const auto first = in->content.begin() + static_cast<std::ptrdiff_t>(start);
        std::vector<expected> left(first, first + static_cast<std::ptrdiff_t>(count));
        /* Values that can be any come last. */
        std::stable_partition(left.begin(), left.end(),
                              [](const expected &e) { return e.is != state::unknown; });
        for (std::size_t index = start; index < start + count; index++) {
            const auto found = std::find_if(left.begin(), left.end(), [&](const expected &e) {
                return fits(in->cells()[index], e);
            });
            if (found == left.end()) {
                fail(rule::value, place(index, run.slot) +
                                      " holds what was in none of the cells before a sort");
            }
            in->content[index] = *found;
            left.erase(found);
        }
    }
    bool fits(const std::uint8_t *at, const expected &wanted)
    {
        const bool always = functions_.zero_is_default();
        if (!always && !functions_.live(at)) {
            return wanted.is == state::vacant;
        }
        if (wanted.is == state::vacant && !always) {
            return false;
        }
        const std::uint32_t number = wanted.is == state::value ? wanted.number : default_number;
        return wanted.is == state::unknown ||
               !values_.differs(at, number);
    }

    /* Two ranges of equal length, and the order in which no source is overwritten before it is read. */
    struct pair {
        segment *from, *to;
        std::size_t start, offset, count;
        bool one_by_one;
        std::vector<std::size_t> order;
    };
    std::optional<pair> pair_of(const range &run)
    {
        segment *from = slots_[run.slot].get(), *to = slots_[run.to % slots].get();
        if (from == nullptr || to == nullptr) {
            return std::nullopt;
        }
        auto [start, count] = inside(run, from->count());
        const std::size_t offset = run.offset % (to->count() + 1);
        count = std::min(count, to->count() - offset);
        const std::size_t apart = offset > start ? offset - start : start - offset;
        pair found{from, to, start, offset, count, from == to && apart < count, {}};
        for (std::size_t index = 0; index < count; index++) {
            found.order.push_back(index);
        }
        if (found.one_by_one && offset > start) {
            std::reverse(found.order.begin(), found.order.end());
        }
        return found;
    }

    void copy(const range &run)
    {
        const std::optional<pair> both = pair_of(run);
        if (!both || (both->from == both->to && both->start == both->offset)) {
            return;
        }
        const run_of_cells from = both->from->cells().part(both->start, both->count);
        const run_of_cells to = both->to->cells().part(both->offset, both->count);
        std::vector<std::size_t> order;
        std::vector<expected> wanted;
        for (const std::size_t index : both->order) {
            order.push_back(both->offset + index);
            wanted.push_back(both->from->content[both->start + index]);
        }
        outcome result;
        if (both->one_by_one) {
            for (std::size_t done = 0; done < both->count && result.ok; done++) {
                const std::size_t index = both->order[done];
                result = functions_.copy(to.part(index, 1), from.part(index, 1)).after(done);
            }
        } else {
            result = functions_.copy(to, from);
        }
        settle(*both->to, result, order, wanted, assigns_);
        check(run.to % slots);
    }

    void relocate(const range &run)
    {
        const std::optional<pair> both = pair_of(run);
        if (!both || (both->from == both->to && both->start == both->offset)) {
            return;
        }
        for (const std::size_t index : both->order) {
            accept_destructor(functions_.relocate(both->to->cells()[both->offset + index],
                                                  both->from->cells()[both->start + index]));
            both->to->content[both->offset + index] =
                std::exchange(both->from->content[both->start + index], expected());
        }
        check(run.to % slots);
    }

    void permute(const range &run)
    {
        segment *in = slots_[run.slot].get();
        if (in == nullptr) {
            return;
        }
        const std::size_t half = in->count() / 2;
        const auto [start, count] = inside(run, half);
        std::swap_ranges(in->cells()[start], in->cells()[start + count], in->cells()[start + half]);
        for (std::size_t index = start; index < start + count; index++) {
            std::swap(in->content[index], in->content[index + half]);
        }
    }

    static interval inside(const range &run, std::size_t length)
    {
        return detail::inside(run.start, run.count, length);
    }

    cell_functions functions_;
    bool assigns_;
    value_functions &values_;
    std::unique_ptr<segment> slots_[slots];
};

} // namespace detail
} // namespace testing
} // namespace denizen

#endif
