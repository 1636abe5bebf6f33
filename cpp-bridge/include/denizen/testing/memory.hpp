/*
 * operator new and delete that count, fail where they are told to, and see memory that is freed
 * twice. DENIZEN_LIFECHECK brings them; in a program of tests DENIZEN_LIFECHECK_MEMORY does, in
 * one source file. Without them nothing fails for lack of memory, and LeakSanitizer alone sees leaks.
 */
#ifndef DENIZEN_TESTING_MEMORY_HPP
#define DENIZEN_TESTING_MEMORY_HPP

#include <denizen/testing/finding.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define DENIZEN_LIFECHECK_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(DENIZEN_LIFECHECK_SANITIZED)
#define DENIZEN_LIFECHECK_SANITIZED 1
#endif

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {
namespace detail {

/** What the operators know. One thread runs a lifecheck; what other threads do is not counted. */
struct heap_state {
    /** The operators are in this program. */
    bool watched = false;
    /** The type is at work: what is allocated is its, and may fail. */
    bool armed = false;
    /** Allocations until one fails; negative: none is planned. */
    long countdown = -1;
    /** A planned failure happened. */
    bool failed = false;
    /** Blocks that the type allocated and has not freed. */
    long live = 0;
    /** The operators saw this. */
    rule broken = rule::none;
    const char *message = nullptr;
};

inline thread_local heap_state heap;

/** The type is at work. */
struct armed {
    armed() noexcept { heap.armed = true; }
    armed(const armed &) = delete;
    armed &operator=(const armed &) = delete;
    ~armed() { heap.armed = false; }
};

/** Counts one allocation, which may be the one that fails. */
inline bool allocation_fails() noexcept
{
    if (heap.countdown < 0 || heap.countdown-- > 0) {
        return false;
    }
    heap.failed = true;
    return true;
}

#if defined(DENIZEN_LIFECHECK_SANITIZED)
/* The sanitizer looks after the blocks; we count. */
inline void *raw_block(std::size_t size, std::size_t align, bool) noexcept
{
    void *block = nullptr;
    return posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align,
                          size == 0 ? 1 : size) == 0
               ? block
               : nullptr;
}
inline void raw_free(void *block, bool) noexcept { std::free(block); }
#else
/* In front of each block. */
struct block_header {
    /** Where the memory begins. */
    void *start;
    std::size_t size;
    std::uint64_t state;
};
constexpr std::uint64_t block_single = 0xd371e27e51e91e00, block_array = 0xd371e27ea77a9e00,
                        block_freed = 0xd371e27ef7eed000;

/* Freed blocks wait a while, full of nonsense, so that whoever uses one again is seen. */
struct quarantine {
    static constexpr std::size_t places = 512;
    block_header *blocks[places] = {};
    std::size_t next = 0;
};
inline thread_local quarantine freed_blocks;

inline void *raw_block(std::size_t size, std::size_t align, bool array) noexcept
{
    align = align < alignof(std::max_align_t) ? alignof(std::max_align_t) : align;
    if (size > SIZE_MAX - align - sizeof(block_header)) {
        return nullptr;
    }
    auto *start = static_cast<unsigned char *>(std::malloc(size + align + sizeof(block_header)));
    if (start == nullptr) {
        return nullptr;
    }
    auto address = reinterpret_cast<std::uintptr_t>(start) + sizeof(block_header);
    address = (address + align - 1) / align * align;
    auto *block = start + (address - reinterpret_cast<std::uintptr_t>(start));
    const block_header header{start, size, array ? block_array : block_single};
    std::memcpy(block - sizeof header, &header, sizeof header);
    std::memset(block, 0xcd, size);
    return block;
}
inline void raw_free(void *block, bool array) noexcept
{
    auto *header = reinterpret_cast<block_header *>(static_cast<unsigned char *>(block) -
                                                    sizeof(block_header));
    const std::uint64_t wanted = array ? block_array : block_single;
    if (header->state != wanted) {
        heap.broken = rule::freed_once;
        heap.message = header->state == block_freed
                             ? "memory was freed twice"
                         : header->state == block_array || header->state == block_single
                             ? "new[] and delete, or new and delete[], were mixed"
                             : "delete was given what is no block of new";
        return;
    }
    header->state = block_freed;
    std::memset(block, 0xdd, header->size);
    block_header *&place = freed_blocks.blocks[freed_blocks.next++ % quarantine::places];
    if (place != nullptr) {
        std::free(place->start);
    }
    place = header;
}
#endif

inline void *allocate(std::size_t size, std::size_t align, bool array) noexcept
{
    heap.watched = true;
    if (heap.armed && allocation_fails()) {
        return nullptr;
    }
    void *block = raw_block(size, align, array);
    if (heap.armed && block != nullptr) {
        heap.live++;
    }
    return block;
}
inline void *allocate_or_throw(std::size_t size, std::size_t align, bool array)
{
    void *block = allocate(size, align, array);
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    return block;
}
inline void deallocate(void *block, bool array) noexcept
{
    if (block != nullptr) {
        if (heap.armed) {
            heap.live--;
        }
        raw_free(block, array);
    }
}

} // namespace detail
} // namespace testing
} // namespace denizen

#define DENIZEN_LIFECHECK_OPERATORS(suffix, array)                                               \
    void *operator new suffix(std::size_t size)                                                  \
    {                                                                                            \
        return denizen::testing::detail::allocate_or_throw(size, 0, array);                      \
    }                                                                                            \
    void *operator new suffix(std::size_t size, std::align_val_t align)                          \
    {                                                                                            \
        return denizen::testing::detail::allocate_or_throw(                                      \
            size, static_cast<std::size_t>(align), array);                                       \
    }                                                                                            \
    void *operator new suffix(std::size_t size, const std::nothrow_t &) noexcept                 \
    {                                                                                            \
        return denizen::testing::detail::allocate(size, 0, array);                               \
    }                                                                                            \
    void *operator new suffix(std::size_t size, std::align_val_t align,                          \
                              const std::nothrow_t &) noexcept                                   \
    {                                                                                            \
        return denizen::testing::detail::allocate(size, static_cast<std::size_t>(align), array); \
    }                                                                                            \
    void operator delete suffix(void *block) noexcept                                            \
    {                                                                                            \
        denizen::testing::detail::deallocate(block, array);                                      \
    }                                                                                            \
    void operator delete suffix(void *block, std::size_t) noexcept                               \
    {                                                                                            \
        denizen::testing::detail::deallocate(block, array);                                      \
    }                                                                                            \
    void operator delete suffix(void *block, std::align_val_t) noexcept                          \
    {                                                                                            \
        denizen::testing::detail::deallocate(block, array);                                      \
    }                                                                                            \
    void operator delete suffix(void *block, std::size_t, std::align_val_t) noexcept             \
    {                                                                                            \
        denizen::testing::detail::deallocate(block, array);                                      \
    }                                                                                            \
    void operator delete suffix(void *block, const std::nothrow_t &) noexcept                    \
    {                                                                                            \
        denizen::testing::detail::deallocate(block, array);                                      \
    }                                                                                            \
    void operator delete suffix(void *block, std::align_val_t, const std::nothrow_t &) noexcept  \
    {                                                                                            \
        denizen::testing::detail::deallocate(block, array);                                      \
    }

/** Replaces operator new and delete of the program. In one source file. */
#define DENIZEN_LIFECHECK_MEMORY                                                                 \
    DENIZEN_LIFECHECK_OPERATORS(, false)                                                         \
    DENIZEN_LIFECHECK_OPERATORS([], true)

#endif
