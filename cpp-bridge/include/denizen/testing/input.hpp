/*
 * Where the closure of a lifecheck gets its numbers from.
 */
#ifndef DENIZEN_TESTING_INPUT_HPP
#define DENIZEN_TESTING_INPUT_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace denizen __attribute__((visibility("hidden"))) {
namespace testing {

/**
 * Numbers for one value. The value must be made of this input alone, as it is made again to be
 * compared. The bytes are those of Rust's lifecheck: small numbers often (one byte, then zeros),
 * else the number of the value and what splitmix64 makes of it, without end.
 */
class input {
public:
    /** The input of the value with this number. */
    explicit input(std::uint16_t number) noexcept : number_(number), state_(number) {}

    /** Any integer. */
    template <class I>
    I integer() noexcept
    {
        static_assert(std::is_integral_v<I>, "denizen: integer<I>() makes integers");
        std::uint64_t bits = 0;
        for (std::size_t index = 0; index < sizeof(I); index++) {
            bits |= static_cast<std::uint64_t>(byte()) << (8 * index);
        }
        return static_cast<I>(bits);
    }
    /** An integer from `low` to `high`, both included. */
    template <class I>
    I integer(I low, I high) noexcept
    {
        const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
        const auto bits = integer<std::uint64_t>();
        return static_cast<I>(static_cast<std::uint64_t>(low) +
                              (span == UINT64_MAX ? bits : bits % (span + 1)));
    }
    /** True or false. */
    bool boolean() noexcept { return (byte() & 1) != 0; }
    /** A number from -1000 to 1000. */
    double real() noexcept { return integer<std::int32_t>(-1000000, 1000000) / 1000.0; }
    /** At most `longest` bytes of text, `a` to `z`. */
    std::string text(std::size_t longest = 40)
    {
        std::string result(integer<std::size_t>(0, longest), ' ');
        for (char &letter : result) {
            letter = static_cast<char>('a' + byte() % 26);
        }
        return result;
    }
    /** One byte. */
    std::uint8_t byte() noexcept
    {
        if (number_ % 4 == 0) {
            return taken_++ == 0 ? static_cast<std::uint8_t>(number_ / 4 % 8) : std::uint8_t(0);
        }
        if (taken_ < 2) {
            return static_cast<std::uint8_t>(number_ >> (8 * taken_++));
        }
        if (left_ == 0) {
            /* splitmix64 */
            state_ += 0x9e3779b97f4a7c15;
            word_ = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
            word_ = (word_ ^ (word_ >> 27)) * 0x94d049bb133111eb;
            word_ ^= word_ >> 31;
            left_ = 8;
        }
        return static_cast<std::uint8_t>(word_ >> (8 * (8 - left_--)));
    }

private:
    std::uint16_t number_;
    std::size_t taken_ = 0;
    unsigned left_ = 0;
    std::uint64_t state_, word_ = 0;
};

} // namespace testing
} // namespace denizen

#endif
