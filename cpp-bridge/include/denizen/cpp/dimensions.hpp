/*
 * A shape or the strides of an array: one signed number for each dimension.
 */
#ifndef DENIZEN_CPP_DIMENSIONS_HPP
#define DENIZEN_CPP_DIMENSIONS_HPP

#include <denizen/denizen.h>

#include <cstddef>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/** A tuple as Python writes it: `(3,)`, `(3, 2)`. */
inline std::string tuple_text(const std::ptrdiff_t *numbers, std::size_t count)
{
    std::string text = "(";
    for (std::size_t place = 0; place < count; place++) {
        text += (place == 0 ? "" : ", ") + std::to_string(numbers[place]);
    }
    return text + (count == 1 ? ",)" : ")");
}

/**
 * Any integer as a length, an index or a stride.
 * Throws std::overflow_error where it is too large for one.
 */
template <class Integer>
constexpr std::ptrdiff_t as_length(Integer number)
{
    static_assert(std::is_integral_v<Integer>, "lengths, indices and strides are integers");
    if constexpr (std::is_unsigned_v<Integer> && sizeof(Integer) >= sizeof(std::ptrdiff_t)) {
        if (number > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max())) {
            throw std::overflow_error("a length of " + std::to_string(number) +
                                      " is more than memory can be");
        }
    }
    return static_cast<std::ptrdiff_t>(number);
}
} // namespace detail

/**
 * A shape in elements, or strides in bytes: one number for each dimension, of none (a single
 * element) to 64. Made of integers of any kind, `{rows, columns}`, of one (one dimension), or of
 * a container of them.
 */
class dimensions
{
public:
    /** Numbers in order; none at all for no dimensions. */
    template <class... Integers,
              class = std::enable_if_t<(std::is_integral_v<Integers> && ... && true)>>
    dimensions(Integers... numbers) : numbers_{detail::as_length(numbers)...}
    {
    }

    /** The integers of a container. */
    template <class Range, class = decltype(std::begin(std::declval<const Range &>())),
              class = std::enable_if_t<!std::is_same_v<Range, dimensions>>>
    dimensions(const Range &numbers)
    {
        for (const auto &number : numbers) {
            numbers_.push_back(detail::as_length(number));
        }
    }

    /** How many dimensions. */
    std::size_t count() const noexcept
    {
        return numbers_.size();
    }

    /** The first number. */
    const std::ptrdiff_t *data() const noexcept
    {
        return numbers_.data();
    }

    std::ptrdiff_t operator[](std::size_t dimension) const
    {
        return numbers_[dimension];
    }

    const std::ptrdiff_t *begin() const noexcept
    {
        return data();
    }

    const std::ptrdiff_t *end() const noexcept
    {
        return data() + count();
    }

    bool operator==(const dimensions &other) const
    {
        return numbers_ == other.numbers_;
    }

    bool operator!=(const dimensions &other) const
    {
        return !(*this == other);
    }

    /** As Python writes a tuple. */
    std::string text() const
    {
        return detail::tuple_text(data(), count());
    }

    /**
     * The product: elements of an array of this shape.
     * Throws std::overflow_error where it is more than memory can be; std::invalid_argument for
     *         a negative length.
     */
    std::ptrdiff_t product() const
    {
        std::ptrdiff_t product = 1;
        bool too_large = false;
        bool empty = false;
        for (const std::ptrdiff_t length : numbers_) {
            if (length < 0) {
                throw std::invalid_argument("negative length in the shape " + text());
            }
            empty = empty || length == 0;
            too_large = too_large || (length > 0 && product > most / length);
            product = too_large ? product : product * length;
        }
        if (empty) {
            return 0;
        }
        if (too_large) {
            throw std::overflow_error("an array of shape " + text() +
                                      " is larger than memory can be");
        }
        return product;
    }

private:
    static constexpr std::ptrdiff_t most = std::numeric_limits<std::ptrdiff_t>::max();

    std::vector<std::ptrdiff_t> numbers_;
};

} // namespace denizen

#endif
