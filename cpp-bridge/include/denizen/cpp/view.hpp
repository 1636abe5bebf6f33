/*
 * denizen::view<T>: the elements of an array as C++ sees them.
 */
#ifndef DENIZEN_CPP_VIEW_HPP
#define DENIZEN_CPP_VIEW_HPP

#include <denizen/denizen.h>

#include <cassert>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <denizen/cpp/any_cell.hpp>
#include <denizen/cpp/iterator.hpp>
#include <denizen/cpp/borrowed_cells.hpp>
#include <denizen/cpp/span.hpp>

namespace denizen __attribute__((visibility("hidden"))) {

/** What a view does about vacant cells, in which no object lives yet (as in `numpy.empty`). */
enum class vacant {
    /** They are filled with the default value first, so that there are objects only. */
    fill,
    /** One is an error (denizen.VacantError in Python), which names its index. */
    refuse,
    /** They are left: look at `is_vacant` or `find` before an element is used. */
    keep,
};

/**
 * The elements of an array of any number of dimensions and any strides, lent to C++ while the
 * view lives. `view<const T>` reads: readers share, and a read-only array will do. `view<T>`
 * writes, and nobody else uses the elements meanwhile: a loop waits where it can, and what cannot
 * wait is refused with denizen.BorrowError, here (as python_error) as in Python.
 *
 * The GIL is held where a view is made and where it ends. In between its elements may be used
 * without the GIL (`without_gil`), where the type is thread-safe; a view keeps its array alive. While a
 * view<T> lives in a function, do not run Python code that may touch the same array.
 *
 * Copying is not possible, moving is; a view that was moved from has no elements and may only be
 * assigned to or destroyed. As a pointer does, a const view<T> lends a T &.
 */
template <class T>
class view
{
    using value = std::remove_const_t<T>;

public:
    using element_type = T;
    using value_type = value;
    using size_type = std::ptrdiff_t;
    using difference_type = std::ptrdiff_t;
    using reference = T &;
    using const_reference = const T &;
    using iterator = element_iterator<T>;
    using const_iterator = element_iterator<const T>;

    /**
     * Lends the elements of `array`: a PyObject * or anything with `.ptr()`, as handles of
     * binding libraries have.
     *
     * Throws python_error: TypeError where it is no array of exactly T's dtype; ValueError where
     *         it is read-only (and T not const) or unaligned; denizen.BorrowError where somebody
     *         else uses the elements; denizen.VacantError, naming the index, for a vacant cell
     *         that is refused or that has no default value to be filled with; what the default
     *         constructor threw.
     * Throws error where T is not a registered element type, or where cells overlap.
     */
    template <class Array>
    explicit view(const Array &array, vacant policy = vacant::fill)
    {
        static_assert(!std::is_volatile_v<T> && !std::is_reference_v<T>,
                      "denizen: a view is over T or const T");
        const auto &element = detail::registered<value>();
        cells_ = std::make_unique<detail::borrowed_cells>(
            detail::object_of(array), element.element, element.stored_as,
            flags(policy));
        /* NumPy's own functions make no cells that overlap by a part, but strides can be set to
         * anything. Cells that are the same (a broadcast array) are read, not written. */
        constexpr bool reads = std::is_const_v<T>;
        if (!cells_->disjoint(detail::cell_size<value>(element.stored_as), reads)) {
            throw error(error_kind::borrow,
                        std::string("cells of the array overlap, so they cannot be lent") +
                            (reads ? "" : " to write"));
        }
        data_ = cells_->data();
        strides_ = cells_->strides();
    }

    /** How many dimensions. */
    std::size_t ndim() const noexcept
    {
        return cells_->dimension_count();
    }
    /** Elements along a dimension. */
    std::ptrdiff_t shape(std::size_t dimension) const noexcept
    {
        assert(dimension < ndim());
        return cells_->shape()[dimension];
    }
    /** Elements along each dimension. */
    denizen::span<const std::ptrdiff_t> shape() const noexcept
    {
        return {cells_->shape(), ndim()};
    }
    /** Bytes from one element to the next along a dimension; may be 0 or negative. */
    std::ptrdiff_t strides(std::size_t dimension) const noexcept
    {
        assert(dimension < ndim());
        return strides_[dimension];
    }
    /** Bytes from one element to the next along each dimension. */
    denizen::span<const std::ptrdiff_t> strides() const noexcept
    {
        return {strides_, ndim()};
    }
    /** Elements in all: 1 without a dimension. */
    std::ptrdiff_t size() const noexcept
    {
        return cells_->size();
    }
    bool empty() const noexcept
    {
        return size() == 0;
    }
    /** The array, borrowed. */
    PyObject *ptr() const noexcept
    {
        return cells_->array();
    }

    /**
     * The element at an index, one number for each dimension. Unchecked but in debug builds,
     * which assert.
     */
    template <class... Indices>
    T &operator()(Indices... indices) const
    {
        assert(inside(indices...));
        unsigned char *cell = locate(indices...);
        assert(!detail::cell_is_vacant<value>(cells_->stored_as(), cell));
        return *detail::object_in<value>(cells_->stored_as(), cell);
    }
    /** The element of a one-dimensional array. Unchecked but in debug builds, which assert. */
    template <class Index>
    T &operator[](Index index) const
    {
        return (*this)(index);
    }

    /**
     * The element at an index, checked.
     * Throws std::out_of_range (IndexError) outside the shape, or for the wrong number of
     *         indices; error (denizen.VacantError) where a kept cell is vacant.
     */
    template <class... Indices>
    T &at(Indices... indices) const
    {
        T *element = find(indices...);
        if (element == nullptr) {
            throw error(error_kind::vacant,
                        "the cell at index " + dimensions(indices...).text() + " is vacant");
        }
        return *element;
    }
    /**
     * The element at an index, or NULL where no object lives there (vacant::keep).
     * Throws std::out_of_range as at() does.
     */
    template <class... Indices>
    T *find(Indices... indices) const
    {
        check(indices...);
        unsigned char *cell = locate(indices...);
        return detail::cell_is_vacant<value>(cells_->stored_as(), cell)
                   ? nullptr
                   : detail::object_in<value>(cells_->stored_as(), cell);
    }

    /** All elements in C order: the last index runs fastest. Random access. */
    iterator begin() const noexcept
    {
        return iterator(*cells_, 0);
    }
    iterator end() const noexcept
    {
        return iterator(*cells_, size());
    }
    const_iterator cbegin() const noexcept
    {
        return begin();
    }
    const_iterator cend() const noexcept
    {
        return end();
    }

    /**
     * The first of `size()` elements that lie one after the other in C order. For types stored
     * inline: else it does not compile, and says which promise is missing. Not for views that
     * keep vacant cells.
     * Throws error (ValueError) where the array is not contiguous, naming its strides.
     */
    T *data() const
    {
        detail::require_inline<value>();
        if (cells_->stored_as() != storage::inline_cells) {
            throw error(error_kind::type,
                        std::string(detail::registered<value>().name) +
                            " is registered with a storage that is not inline, so its objects are "
                            "not contiguous: use iterators or operator()");
        }
        if (!cells_->contiguous(sizeof(value))) {
            throw error(error_kind::value,
                        std::string("the array of ") + detail::registered<value>().name +
                            " is not contiguous: shape " +
                            detail::tuple_text(cells_->shape(), ndim()) + ", strides " +
                            detail::tuple_text(strides_, ndim()) + " for elements of " +
                            std::to_string(sizeof(value)) +
                            " bytes; use iterators, operator() or a contiguous copy");
        }
        return reinterpret_cast<T *>(data_);
    }
    /** All elements of a contiguous array; see data(). */
    denizen::span<T> span() const
    {
        return {data(), static_cast<std::size_t>(size())};
    }

private:
    static denizen_view_flags flags(vacant policy)
    {
        denizen_view_flags flags = std::is_const_v<T> ? 0 : DENIZEN_VIEW_WRITE;
        if (policy == vacant::refuse) {
            flags |= DENIZEN_VIEW_REFUSE_VACANT;
        } else if (policy == vacant::keep) {
            flags |= DENIZEN_VIEW_KEEP_VACANT;
        }
        return flags;
    }

    template <class... Indices>
    unsigned char *locate(Indices... indices) const noexcept
    {
        unsigned char *cell = data_;
        [[maybe_unused]] const std::ptrdiff_t *stride = strides_;
        ((cell += static_cast<std::ptrdiff_t>(indices) * *stride++), ...);
        return cell;
    }

    template <class... Indices>
    bool inside(Indices... indices) const noexcept
    {
        static_assert((std::is_integral_v<Indices> && ... && true),
                      "denizen: an index is made of integers");
        std::size_t axis = 0;
        [[maybe_unused]] const auto fits = [&](std::ptrdiff_t index) {
            const std::ptrdiff_t length = cells_->shape()[axis++];
            return index >= 0 && index < length;
        };
        return sizeof...(Indices) == ndim() &&
               (fits(static_cast<std::ptrdiff_t>(indices)) && ... && true);
    }

    template <class... Indices> void check(Indices... indices) const
    {
        if (!inside(indices...)) {
            throw std::out_of_range("index " + dimensions(indices...).text() +
                                    " is outside the shape " +
                                    detail::tuple_text(cells_->shape(), ndim()));
        }
    }

    std::unique_ptr<detail::borrowed_cells> cells_;
    unsigned char *data_ = nullptr;
    const std::ptrdiff_t *strides_ = nullptr;
};

} // namespace denizen

#endif
