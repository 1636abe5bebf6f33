/*
 * Cells that the runtime lends, and where each of them is: what a view, its iterators and take()
 * stand on.
 */
#ifndef DENIZEN_CPP_BORROWED_CELLS_HPP
#define DENIZEN_CPP_BORROWED_CELLS_HPP

#include <denizen/denizen.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include <denizen/cpp/dimensions.hpp>
#include <denizen/cpp/error.hpp>
#include <denizen/cpp/reference.hpp>
#include <denizen/cpp/runtime.hpp>
#include <denizen/cpp/storage.hpp>

namespace denizen __attribute__((visibility("hidden"))) {
namespace detail {

/**
 * Cells of an array, lent until this ends. Its place in memory is fixed: iterators point to it.
 * The GIL is held when it is made and when it ends.
 */
class borrowed_cells
{
public:
    borrowed_cells(PyObject *array, const denizen_element *element, storage stored_as,
               denizen_view_flags flags)
        : api_(&api()), stored_as_(stored_as)
    {
        view_.struct_size = sizeof view_;
        view_.token = nullptr;
        view_.array = nullptr;
        if (api_->view(array, element, flags, &view_) != DENIZEN_OK) {
            throw python_error();
        }
        measure();
    }
    borrowed_cells(const borrowed_cells &) = delete;
    borrowed_cells &operator=(const borrowed_cells &) = delete;
    ~borrowed_cells()
    {
        const pending_exception pending;
        api_->release_view(&view_);
    }

    std::size_t dimension_count() const noexcept
    {
        return view_.dimension_count;
    }
    const std::ptrdiff_t *shape() const noexcept
    {
        return view_.shape;
    }
    const std::ptrdiff_t *strides() const noexcept
    {
        return view_.strides;
    }
    unsigned char *data() const noexcept
    {
        return view_.data;
    }
    /** Elements in all. */
    std::ptrdiff_t size() const noexcept
    {
        return size_;
    }
    storage stored_as() const noexcept
    {
        return stored_as_;
    }
    PyObject *array() const noexcept
    {
        return view_.array;
    }

    /** Elements of a row: the longest stretch, in C order, with one distance between neighbours. */
    std::ptrdiff_t row_length() const noexcept
    {
        return row_length_;
    }
    /** Bytes between neighbours in a row. */
    std::ptrdiff_t row_stride() const noexcept
    {
        return row_stride_;
    }

    /**
     * The cell at a position in C order, and its column in its row; the end is a position, whose
     * cell is not to be used.
     */
    unsigned char *locate(std::ptrdiff_t position, std::ptrdiff_t &column) const noexcept
    {
        if (size_ == 0) {
            column = 0;
            return view_.data;
        }
        column = position % row_length_;
        std::ptrdiff_t row = position / row_length_;
        unsigned char *cell = view_.data + column * row_stride_;
        for (std::size_t axis = outer_; axis-- > 0;) {
            cell += row % view_.shape[axis] * view_.strides[axis];
            row /= view_.shape[axis];
        }
        return cell;
    }

    /** Whether the cells lie one after the other in C order. */
    bool contiguous(std::size_t cell_size) const noexcept
    {
        return size_ <= 1 || (row_length_ == size_ &&
                              row_stride_ == static_cast<std::ptrdiff_t>(cell_size));
    }

    /**
     * Whether no two indices surely share bytes: each axis steps over all that the finer ones
     * reach. With `same` two indices may have the very same cell (stride 0).
     */
    bool disjoint(std::size_t cell_size, bool same) const
    {
        if (size_ <= 1) {
            return true;
        }
        std::array<std::pair<std::ptrdiff_t, std::ptrdiff_t>, DENIZEN_MAX_DIMENSIONS> axes;
        std::size_t count = 0;
        for (std::size_t axis = 0; axis < view_.dimension_count; axis++) {
            const std::ptrdiff_t stride = view_.strides[axis];
            if (view_.shape[axis] > 1 && !(same && stride == 0)) {
                axes[count++] = {stride < 0 ? -stride : stride, view_.shape[axis]};
            }
        }
        std::sort(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(count));
        std::ptrdiff_t reach = static_cast<std::ptrdiff_t>(cell_size);
        for (std::size_t axis = 0; axis < count; axis++) {
            if (axes[axis].first < reach) {
                return false;
            }
            reach += axes[axis].first * (axes[axis].second - 1);
        }
        return true;
    }

private:
    /** Counts the elements and finds the rows. */
    void measure() noexcept
    {
        std::size_t axis = view_.dimension_count;
        while (axis > 0 && view_.shape[axis - 1] == 1) {
            axis--;
        }
        if (axis > 0) {
            axis--;
            row_length_ = view_.shape[axis];
            row_stride_ = view_.strides[axis];
        }
        while (axis > 0 && (view_.shape[axis - 1] == 1 ||
                            view_.strides[axis - 1] == row_length_ * row_stride_)) {
            axis--;
            row_length_ *= view_.shape[axis];
        }
        outer_ = axis;
        size_ = row_length_;
        while (axis > 0) {
            size_ *= view_.shape[--axis];
        }
    }

    const denizen_api *api_;
    storage stored_as_;
    denizen_view view_;
    std::ptrdiff_t size_ = 0;
    std::ptrdiff_t row_length_ = 1;
    std::ptrdiff_t row_stride_ = 0;
    /* Axes that are not part of rows. */
    std::size_t outer_ = 0;
};

} // namespace detail
} // namespace denizen

#endif
