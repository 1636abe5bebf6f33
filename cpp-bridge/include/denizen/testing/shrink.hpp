/*
 * Random sequences, and shorter ones that show the same.
 */
#ifndef DENIZEN_TESTING_SHRINK_HPP
#define DENIZEN_TESTING_SHRINK_HPP

#include <denizen/testing/reduced.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {
namespace detail {

/** The bytes of the sequence with this seed: at most `steps` operations, mostly on few cells. */
inline std::vector<std::uint8_t> random_bytes(std::uint64_t seed, std::size_t steps)
{
    std::uint64_t state = seed * 0x9e3779b97f4a7c15;
    const auto next = [&state] {
        /* xorshift* of a state that is never zero */
        state |= state == 0 ? 1 : 0;
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return static_cast<std::uint32_t>((state * 0x2545f4914f6cdd1d) >> 32);
    };
    for (int warm = 0; warm < 4; warm++) {
        next();
    }
    const std::size_t count = 1 + next() % (steps == 0 ? 1 : steps);
    std::vector<std::uint8_t> bytes;
    for (std::size_t index = 0; index < count; index++) {
        std::uint8_t step[8];
        for (std::uint8_t &byte : step) {
            byte = static_cast<std::uint8_t>(next());
        }
        if (next() % 8 != 0) {
            step[3] = static_cast<std::uint8_t>((step[3] & 1) != 0 ? step[3] & 3 : 0);
            step[5] = 0;
            step[2] = static_cast<std::uint8_t>(step[2] % 20);
            step[4] = static_cast<std::uint8_t>(step[4] % 20);
        }
        /* Something to work on comes first. */
        step[0] = static_cast<std::uint8_t>(index < 2 ? 0 : step[0]);
        step[1] = static_cast<std::uint8_t>(index < 2 ? index : step[1]);
        bytes.insert(bytes.end(), step, step + 8);
    }
    return bytes;
}

/** Changes bytes by whole steps, for libFuzzer, which knows bytes only: begins anew, puts in some that
 * are new, takes one out, or moves one to the end. Returns how many bytes there are then. */
inline std::size_t mutate_steps(std::uint8_t *bytes, std::size_t size, std::size_t most,
                                std::uint64_t seed)
{
    size -= size % 8;
    const std::size_t steps = size / 8, at = steps == 0 ? 0 : seed / 8 % steps * 8;
    switch (seed % 8) {
    case 0:
        if (steps > 1) {
            std::memmove(bytes + at, bytes + at + 8, size - at - 8);
            return size - 8;
        }
        break;
    case 1:
        if (steps > 1) {
            std::rotate(bytes + at, bytes + at + 8, bytes + size);
            return size;
        }
        break;
    default: break;
    }
    if (seed % 8 < 4 || steps == 0) {
        const std::vector<std::uint8_t> anew = random_bytes(seed + 1, std::min(most / 8, most_steps));
        if (anew.size() <= most) {
            std::copy(anew.begin(), anew.end(), bytes);
            return anew.size();
        }
        return size;
    }
    std::vector<std::uint8_t> fresh = random_bytes(seed + 1, 4);
    if (fresh.size() > 8) {
        /* Not what allocates first. */
        fresh.erase(fresh.begin(), fresh.begin() + static_cast<std::ptrdiff_t>(
                                                       fresh.size() > 16 ? 16 : 8));
    }
    const std::size_t room = most > size ? (most - size) / 8 * 8 : 0;
    const std::size_t added = std::min(fresh.size(), room);
    if (added == 0) {
        std::copy_n(fresh.begin(), std::min(fresh.size(), size - at), bytes + at);
        return size;
    }
    std::memmove(bytes + at + added, bytes + at, size - at);
    std::copy_n(fresh.begin(), added, bytes + at);
    return size + added;
}

/** A shorter and simpler sequence of which `shows` is still true. */
template <class Shows>
std::vector<operation> shrink(std::vector<operation> operations, Shows &&shows)
{
    using clock = std::chrono::steady_clock;
    const clock::time_point end = clock::now() + std::chrono::seconds(20);
    std::size_t tries = 4000;
    const auto attempt = [&](const std::vector<operation> &whole) {
        const std::vector<operation> candidate = reduced(whole);
        if (tries == 0 || clock::now() > end || !shows(candidate)) {
            return false;
        }
        operations = candidate;
        return true;
    };
    const auto with_tries = [&](bool &again, const std::vector<operation> &candidate) {
        tries -= tries == 0 ? 0 : 1;
        const bool shorter = attempt(candidate);
        again |= shorter;
        return shorter;
    };
    for (bool again = true; again && tries > 0;) {
        again = false;
        for (std::size_t length = (operations.size() + 1) / 2; length > 0; length /= 2) {
            for (std::size_t start = 0; start + length <= operations.size();) {
                std::vector<operation> candidate = operations;
                const auto first = candidate.begin() + static_cast<std::ptrdiff_t>(start);
                candidate.erase(first, first + static_cast<std::ptrdiff_t>(length));
                if (!with_tries(again, candidate)) {
                    start += length;
                }
            }
        }
        for (std::size_t step = 0; step < operations.size(); step++) {
            for (std::size_t field = 0; field < 5; field++) {
                const std::uint32_t number = operations[step].numbers[field];
                for (const std::uint32_t smaller : {0U, 1U, 2U, number / 2, number - 1}) {
                    if (smaller < operations[step].numbers[field]) {
                        std::vector<operation> candidate = operations;
                        candidate[step].numbers[field] = smaller;
                        with_tries(again, candidate);
                    }
                }
            }
        }
    }
    return operations;
}

} // namespace detail
} // namespace testing
} // namespace denizen

#endif
