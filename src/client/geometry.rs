//! Where the cells of a view are.

/// Where the cells of a view are.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    pub(super) data: *mut u8,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<isize>,
}

impl Geometry {
    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the cells lie one after the other, in row-major order.
    pub(super) fn is_contiguous(&self, size: usize) -> bool {
        let mut expected = size as isize;
        self.len() == 0
            || self.shape.iter().zip(&self.strides).rev().all(|(&length, &stride)| {
                let right = length == 1 || stride == expected;
                expected *= length as isize;
                right
            })
    }

    /// Whether no two indices surely share a cell: each axis steps over all that the finer ones
    /// reach.
    pub(super) fn is_disjoint(&self, size: usize) -> bool {
        let mut axes: Vec<(usize, usize)> = (self.shape.iter().zip(&self.strides))
            .filter(|&(&length, _)| length != 1)
            .map(|(&length, &stride)| (stride.unsigned_abs(), length))
            .collect();
        axes.sort_unstable();
        let mut reach = size;
        self.len() <= 1
            || axes.into_iter().all(|(stride, length)| {
                let clear = stride >= reach;
                reach += stride * (length - 1);
                clear
            })
    }

    /// The cell at an index.
    pub(super) fn cell(&self, index: &[usize]) -> Option<*mut u8> {
        if index.len() != self.shape.len() {
            return None;
        }
        let mut offset = 0;
        for ((&at, &length), &stride) in index.iter().zip(&self.shape).zip(&self.strides) {
            if at >= length {
                return None;
            }
            offset += at as isize * stride;
        }
        Some(self.data.wrapping_offset(offset))
    }

    pub(super) fn positions(&self) -> Positions<'_> {
        Positions {
            geometry: self,
            next: self.data,
            index: vec![0; self.shape.len()],
            left: self.len(),
        }
    }
}

/// All cells in row-major order.
pub(super) struct Positions<'a> {
    geometry: &'a Geometry,
    next: *mut u8,
    index: Vec<usize>,
    left: usize,
}

impl Iterator for Positions<'_> {
    type Item = *mut u8;

    fn next(&mut self) -> Option<*mut u8> {
        self.left = self.left.checked_sub(1)?;
        let cell = self.next;
        for axis in (0..self.index.len()).rev() {
            let (length, stride) = (self.geometry.shape[axis], self.geometry.strides[axis]);
            self.index[axis] += 1;
            if self.index[axis] < length {
                self.next = self.next.wrapping_offset(stride);
                break;
            }
            self.index[axis] = 0;
            self.next = self.next.wrapping_offset(-stride * (length as isize - 1));
        }
        Some(cell)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}
