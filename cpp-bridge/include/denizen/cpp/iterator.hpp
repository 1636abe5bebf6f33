/*
 * Walks over the elements of a view.
 */
#ifndef DENIZEN_CPP_ITERATOR_HPP
#define DENIZEN_CPP_ITERATOR_HPP

#include <denizen/denizen.h>

#include <cassert>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include <denizen/cpp/any_cell.hpp>
#include <denizen/cpp/borrowed_cells.hpp>

namespace denizen __attribute__((visibility("hidden"))) {

/**
 * A position in a view, in C order (the last index runs fastest) whatever the strides: a random
 * access iterator over the elements. It is valid as long as the view that it comes from.
 *
 * Along a row a step costs an addition; a jump costs a division for each dimension that is not
 * laid out as one with the next.
 */
template <class T>
class element_iterator
{
    using value = std::remove_const_t<T>;

public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = value;
    using difference_type = std::ptrdiff_t;
    using pointer = T *;
    using reference = T &;

    element_iterator() noexcept = default;

    /** For the view. */
    element_iterator(const detail::borrowed_cells &cells, std::ptrdiff_t position) noexcept
        : cells_(&cells), position_(position)
    {
        cell_ = cells.locate(position, column_);
    }

    /** An iterator over T is one over const T. */
    template <class Other, class = std::enable_if_t<std::is_same_v<const Other, T>>>
    element_iterator(const element_iterator<Other> &other) noexcept
        : cells_(other.cells_), cell_(other.cell_), position_(other.position_),
          column_(other.column_)
    {
    }

    reference operator*() const
    {
        assert(!is_vacant());
        return *detail::object_in<value>(cells_->stored_as(), cell_);
    }
    pointer operator->() const
    {
        return &**this;
    }
    reference operator[](difference_type distance) const
    {
        return *(*this + distance);
    }

    /** Whether no object lives there; only in views that keep vacant cells. */
    bool is_vacant() const noexcept
    {
        return detail::cell_is_vacant<value>(cells_->stored_as(), cell_);
    }
    /** The element, or NULL where there is none. */
    pointer get() const noexcept
    {
        return is_vacant() ? nullptr : detail::object_in<value>(cells_->stored_as(), cell_);
    }
    /**
     * Builds an object in a vacant cell of a mutable view that keeps vacant cells. Whatever the
     * constructor throws passes through, and the cell stays vacant.
     */
    template <class... Arguments>
    reference emplace(Arguments &&...arguments) const
    {
        static_assert(!std::is_const_v<T>, "denizen: a view of const elements builds none");
        assert(detail::zeroed<value>(cells_->stored_as(), cell_));
        return detail::emplace_in<value>(cells_->stored_as(), cell_,
                                         std::forward<Arguments>(arguments)...);
    }

    element_iterator &operator++() noexcept
    {
        position_++;
        column_++;
        if (column_ < cells_->row_length()) {
            cell_ += cells_->row_stride();
        } else {
            cell_ = cells_->locate(position_, column_);
        }
        return *this;
    }
    element_iterator &operator--() noexcept
    {
        return *this -= 1;
    }
    element_iterator operator++(int) noexcept
    {
        element_iterator before = *this;
        ++*this;
        return before;
    }
    element_iterator operator--(int) noexcept
    {
        element_iterator before = *this;
        --*this;
        return before;
    }
    element_iterator &operator+=(difference_type distance) noexcept
    {
        const difference_type column = column_ + distance;
        position_ += distance;
        if (column >= 0 && column < cells_->row_length()) {
            column_ = column;
            cell_ += distance * cells_->row_stride();
        } else {
            cell_ = cells_->locate(position_, column_);
        }
        return *this;
    }
    element_iterator &operator-=(difference_type distance) noexcept
    {
        return *this += -distance;
    }

    friend element_iterator operator+(element_iterator it, difference_type distance) noexcept
    {
        return it += distance;
    }
    friend element_iterator operator+(difference_type distance, element_iterator it) noexcept
    {
        return it += distance;
    }
    friend element_iterator operator-(element_iterator it, difference_type distance) noexcept
    {
        return it -= distance;
    }
    friend difference_type operator-(const element_iterator &left,
                                     const element_iterator &right) noexcept
    {
        return left.position_ - right.position_;
    }
    friend bool operator==(const element_iterator &left, const element_iterator &right) noexcept
    {
        return left.position_ == right.position_;
    }
    friend bool operator!=(const element_iterator &left, const element_iterator &right) noexcept
    {
        return left.position_ != right.position_;
    }
    friend bool operator<(const element_iterator &left, const element_iterator &right) noexcept
    {
        return left.position_ < right.position_;
    }
    friend bool operator>(const element_iterator &left, const element_iterator &right) noexcept
    {
        return right < left;
    }
    friend bool operator<=(const element_iterator &left, const element_iterator &right) noexcept
    {
        return !(right < left);
    }
    friend bool operator>=(const element_iterator &left, const element_iterator &right) noexcept
    {
        return !(left < right);
    }

private:
    template <class> friend class element_iterator;

    const detail::borrowed_cells *cells_ = nullptr;
    unsigned char *cell_ = nullptr;
    difference_type position_ = 0;
    difference_type column_ = 0;
};

} // namespace denizen

#endif
