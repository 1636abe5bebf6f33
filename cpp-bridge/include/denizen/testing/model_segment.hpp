/*
 * Memory with cells for the model, and what must be in them.
 */
#ifndef DENIZEN_TESTING_MODEL_SEGMENT_HPP
#define DENIZEN_TESTING_MODEL_SEGMENT_HPP

#include <denizen/testing/reduced.hpp>
#include <denizen/testing/values.hpp>

#include <algorithm>
#include <optional>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {
namespace detail {

/** What must be in a cell. */
struct expected {
    enum class state : std::uint8_t {
        vacant,
        value,
        /** Some object: an assignment to it failed. */
        unknown
    };
    state is = state::vacant;
    std::uint32_t number = 0;
};

/** Memory with cells, their alignment no better than asked for, and canaries around them. */
class segment {
public:
    /** NULL where a failure was planned. */
    static std::unique_ptr<segment> allocate(const cell_functions &functions, std::size_t count,
                                             std::size_t align, std::size_t extra)
    {
        if (allocation_fails()) {
            return nullptr;
        }
        return std::unique_ptr<segment>(new segment(functions, count, align, extra));
    }
    segment(const segment &) = delete;
    segment &operator=(const segment &) = delete;
    /** Forgets the cells. */
    ~segment()
    {
        std::memset(block_, 0xdd, static_cast<std::size_t>(cells_ - block_) + bytes_ + extra_);
        std::free(block_);
    }

    std::size_t align() const noexcept { return align_; }
    std::size_t count() const noexcept { return content.size(); }
    run_of_cells cells() const noexcept
    {
        return {cells_, static_cast<std::ptrdiff_t>(size_), count()};
    }
    void check_canaries() const
    {
        const auto whole = [](const std::uint8_t *from, const std::uint8_t *to) {
            return std::all_of(from, to, [](std::uint8_t byte) { return byte == canary; });
        };
        if (!whole(block_, cells_) || !whole(cells_ + bytes_, cells_ + bytes_ + extra_)) {
            fail(rule::bounds, "bytes outside of the cells were written");
        }
    }

    std::vector<expected> content;

private:
    static constexpr std::uint8_t canary = 0xa5;
#if defined(DENIZEN_LIFECHECK_SANITIZED)
    static constexpr std::size_t guard = 0;
#else
    static constexpr std::size_t guard = 32;
#endif

    segment(const cell_functions &functions, std::size_t count, std::size_t align,
            std::size_t extra)
        : content(count), size_(functions.size()), align_(std::max(align, functions.align())),
          bytes_(count * size_), extra_(extra + guard)
    {
        /* An odd multiple of the alignment: nothing is aligned better by chance. */
        const std::size_t room = 2 * align_ + bytes_ + extra_;
        block_ = static_cast<std::uint8_t *>(std::malloc(room + 2 * align_));
        if (block_ == nullptr) {
            std::abort();
        }
        const auto start = reinterpret_cast<std::uintptr_t>(block_);
        const std::uintptr_t cells =
            (start + 2 * align_ - 1) / (2 * align_) * (2 * align_) + align_;
        cells_ = block_ + (cells - start);
        std::memset(block_, canary, cells - start + bytes_ + extra_);
        std::memset(cells_, 0, bytes_);
    }

    std::size_t size_, align_, bytes_, extra_;
    std::uint8_t *block_ = nullptr;
    std::uint8_t *cells_ = nullptr;
};

} // namespace detail
} // namespace testing
} // namespace denizen

#endif
