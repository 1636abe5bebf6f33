/*
 * Sequences in the numbers that they mean: segments and cells that exist.
 */
#ifndef DENIZEN_TESTING_REDUCED_HPP
#define DENIZEN_TESTING_REDUCED_HPP

#include <denizen/testing/operation.hpp>

#include <algorithm>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {
namespace detail {

/** Segments of a run, and one more cell than the largest has. */
constexpr std::size_t slots = 4, most_cells = 130;

/** A start and a count of cells. */
struct interval {
    std::size_t start, count;
};
inline interval inside(std::size_t start, std::size_t count, std::size_t length)
{
    start %= length + 1;
    return {start, count % (length - start + 1)};
}

/** The cells from one to the next of a loop. */
inline std::ptrdiff_t stride_of(std::uint32_t to) { return static_cast<std::int8_t>(to) % 8; }
/** How many there are of them from one of `length` cells on. */
inline std::size_t room_of(std::size_t start, std::size_t length, std::ptrdiff_t stride)
{
    const auto step = static_cast<std::size_t>(stride < 0 ? -stride : stride);
    return stride == 0  ? most_cells
           : stride > 0 ? (length - 1 - start) / step + 1
                        : start / step + 1;
}

/** Cells of the segments of a run, as far as all types have the same. */
class known_cells {
public:
    /** Reduces a step, and follows it. */
    void reduce(operation &step)
    {
        auto &n = step.numbers;
        if (std::string(shape_of(step.what).fields[0]) == "slot") {
            n[0] %= slots;
        }
        switch (step.what) {
        case op::allocate:
            n[1] %= most_cells;
            cells_[n[0]] = fails_ ? unknown : static_cast<long>(n[1]);
            break;
        case op::resize:
            n[1] %= most_cells;
            if (cells_[n[0]] >= 0) {
                cells_[n[0]] = fails_ ? unknown : static_cast<long>(n[1]);
            }
            break;
        case op::free: cells_[n[0]] = absent; break;
        case op::construct:
        case op::materialise:
        case op::sort: reduce_run(n, 1, 0, 0); break;
        case op::permute: reduce_run(n, 2, 0, 0); break;
        case op::destroy: reduce_run(n, 1, n[3] % 2, 0); break;
        case op::set: reduce_run(n, 1, n[3] % 3, plain(n[4])); break;
        case op::put: reduce_run(n, 1, n[3] % 3, n[4]); break;
        case op::loop: reduce_loop(n); break;
        case op::copy:
        case op::relocate:
        case op::compute: reduce_pair(n); break;
        default: break;
        }
        /* A plan is for one step; several plans may be for the same. */
        fails_ = step.what == op::fail_allocation || step.what == op::fail_element ||
                 (step.what == op::fail_destructor && fails_);
    }

private:
    using numbers = std::array<std::uint32_t, 5>;
    static constexpr long absent = -1;
    /** It depends on whether a planned failure came. */
    static constexpr long unknown = -2;

    /* The number of the value that is made of the same bytes (see `input`). */
    static std::uint32_t plain(std::uint32_t number)
    {
        return number % 4 == 0 ? number % 32 : number;
    }
    static void reduce_cells(numbers &n, long length)
    {
        if (length == absent) {
            n[1] = n[2] = 0;
        } else if (length != unknown) {
            const interval in = inside(n[1], n[2], static_cast<std::size_t>(length));
            n[1] = static_cast<std::uint32_t>(in.start);
            n[2] = static_cast<std::uint32_t>(in.count);
        }
    }
    void reduce_run(numbers &n, long parts, std::uint32_t to, std::uint32_t offset)
    {
        const long length = cells_[n[0]];
        reduce_cells(n, length < 0 ? length : length / parts);
        n[3] = to;
        n[4] = offset;
    }
    void reduce_loop(numbers &n)
    {
        const long length = cells_[n[0]];
        n[4] = plain(n[4] >> 8) << 8;
        if (length == absent || length == 0) {
            n[1] = n[2] = 0;
        } else if (length != unknown) {
            const auto all = static_cast<std::size_t>(length);
            n[1] %= static_cast<std::uint32_t>(all);
            n[2] %= static_cast<std::uint32_t>(room_of(n[1], all, stride_of(n[3])) + 1);
        }
    }
    void reduce_pair(numbers &n)
    {
        n[3] %= slots;
        const long from = cells_[n[0]], to = cells_[n[3]];
        if (from == absent || to == absent) {
            n[1] = n[2] = n[4] = 0;
            return;
        }
        reduce_cells(n, from);
        if (to != unknown) {
            n[4] %= static_cast<std::uint32_t>(to + 1);
            if (from != unknown) {
                n[2] = std::min(n[2], static_cast<std::uint32_t>(to) - n[4]);
            }
        }
    }

    std::array<long, slots> cells_{absent, absent, absent, absent};
    bool fails_ = false;
};

/** The same sequence in smaller numbers. */
inline std::vector<operation> reduced(std::vector<operation> operations)
{
    known_cells known;
    for (operation &step : operations) {
        known.reduce(step);
    }
    return operations;
}

} // namespace detail
} // namespace testing
} // namespace denizen

#endif
