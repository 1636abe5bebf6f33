/*
 * Contiguous elements: what std::span is, for C++17.
 */
#ifndef DENIZEN_CPP_SPAN_HPP
#define DENIZEN_CPP_SPAN_HPP

#include <denizen/denizen.h>

#include <cassert>
#include <cstddef>
#include <iterator>
#include <type_traits>

#if __cplusplus >= 202002L && __has_include(<span>)
#include <span>
#endif

namespace denizen __attribute__((visibility("hidden"))) {

/**
 * `size()` elements from `data()` on, which somebody else owns. With C++20 it converts to
 * std::span<T> by itself, being a contiguous borrowed range.
 */
template <class T>
class span
{
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using pointer = T *;
    using reference = T &;
    using iterator = T *;
    using reverse_iterator = std::reverse_iterator<iterator>;

    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    /** A span of T is one of const T. */
    template <class Other, class = std::enable_if_t<std::is_same_v<const Other, T>>>
    constexpr span(const span<Other> &other) noexcept : data_(other.data()), size_(other.size())
    {
    }

    constexpr T *data() const noexcept
    {
        return data_;
    }
    constexpr std::size_t size() const noexcept
    {
        return size_;
    }
    constexpr bool empty() const noexcept
    {
        return size_ == 0;
    }
    constexpr T *begin() const noexcept
    {
        return data_;
    }
    constexpr T *end() const noexcept
    {
        return data_ + size_;
    }
    constexpr reverse_iterator rbegin() const noexcept
    {
        return reverse_iterator(end());
    }
    constexpr reverse_iterator rend() const noexcept
    {
        return reverse_iterator(begin());
    }
    constexpr T &operator[](std::size_t index) const
    {
        assert(index < size_);
        return data_[index];
    }
    constexpr T &front() const
    {
        return (*this)[0];
    }
    constexpr T &back() const
    {
        return (*this)[size_ - 1];
    }
    constexpr span subspan(std::size_t start, std::size_t size) const
    {
        assert(start <= size_ && size <= size_ - start);
        return span(data_ + start, size);
    }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace denizen

#ifdef __cpp_lib_span
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<denizen::span<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_view<denizen::span<T>> = true;
#endif

#endif
