//! Sums of products over cells, the shapes of vecdot, matvec, vecmat and matmul around them.

use super::NumberError;
use super::call::Call;

/// Cells at a distance of `stride` bytes.
#[derive(Clone, Copy)]
pub struct Cells {
    /// The first one.
    pub start: *const u8,
    /// Bytes to the next.
    pub stride: isize,
}

impl Cells {
    /// Cell `index`.
    #[inline(always)]
    pub fn at(self, index: usize) -> *const u8 {
        self.start.wrapping_offset(index as isize * self.stride)
    }

    /// The cells from `index` on.
    #[inline]
    pub fn from(self, index: usize) -> Self {
        Cells { start: self.at(index), ..self }
    }

    fn offset(self, bytes: isize) -> Self {
        Cells { start: self.start.wrapping_offset(bytes), ..self }
    }
}

/// Sums of products of one element type.
pub trait Dot {
    /// The type.
    type Element;

    /// The sum of `count` products.
    ///
    /// # Safety
    /// Both are `count` aligned cells of the type.
    unsafe fn dot(left: Cells, right: Cells, count: usize) -> Result<Self::Element, NumberError>;

    /// Copies cells side by side into `buffer`, where that needs no ownership: they are read
    /// again for each row.
    ///
    /// # Safety
    /// As for `dot`; the result is used while `buffer` and the cells are unchanged.
    unsafe fn gather(cells: Cells, count: usize, buffer: &mut Vec<i64>) -> Option<Cells>;
}

/// The shape of one product of matrices: `(rows, inner) @ (inner, columns)`.
struct Product {
    rows: usize,
    inner: usize,
    columns: usize,
    /// Bytes from row to row and along a row, for each operand.
    left: (isize, isize),
    right: (isize, isize),
    output: (isize, isize),
}

/// Runs the outer loop over products of one shape.
///
/// # Safety
/// The three operands are cells of the element type at the strides of `product`.
unsafe fn products<D: Dot>(call: &Call, product: &Product) -> Result<(), NumberError> {
    // A column of the right matrix, gathered once for all rows of the left one.
    let mut buffer: Vec<i64> = Vec::new();
    let gather = product.rows > 1 && product.right.0 != size_of::<D::Element>() as isize;
    for outer in 0..call.count() {
        call.done(outer);
        let start = |operand: usize| {
            call.pointer(operand).wrapping_offset(outer as isize * call.stride(operand))
        };
        let (left, right, output) = (start(0), start(1), start(2));
        for j in 0..product.columns as isize {
            let mut right =
                Cells { start: right, stride: product.right.0 }.offset(j * product.right.1);
            if gather {
                // SAFETY: the caller's cells; the buffer changes with the next column only.
                right = unsafe { D::gather(right, product.inner, &mut buffer) }.unwrap_or(right);
            }
            for i in 0..product.rows as isize {
                let left = Cells { start: left, stride: product.left.1 }.offset(i * product.left.0);
                // SAFETY: the caller's cells; NumPy gives outputs that overlap no input.
                unsafe {
                    let sum = D::dot(left, right, product.inner)?;
                    *output
                        .wrapping_offset(i * product.output.0 + j * product.output.1)
                        .cast::<D::Element>() = sum;
                }
            }
        }
    }
    Ok(())
}

/// `vecdot`: `(n),(n)->()`.
///
/// # Safety
/// The three operands are cells of the element type.
pub unsafe fn vecdot<D: Dot>(call: &Call) -> Result<(), NumberError> {
    let product = Product {
        rows: 1,
        inner: call.core(1),
        columns: 1,
        left: (0, call.stride(3)),
        right: (call.stride(4), 0),
        output: (0, 0),
    };
    // SAFETY: the caller's.
    unsafe { products::<D>(call, &product) }
}

/// `matvec`: `(m,n),(n)->(m)`.
///
/// # Safety
/// The three operands are cells of the element type.
pub unsafe fn matvec<D: Dot>(call: &Call) -> Result<(), NumberError> {
    let product = Product {
        rows: call.core(1),
        inner: call.core(2),
        columns: 1,
        left: (call.stride(3), call.stride(4)),
        right: (call.stride(5), 0),
        output: (call.stride(6), 0),
    };
    // SAFETY: the caller's.
    unsafe { products::<D>(call, &product) }
}

/// `vecmat`: `(n),(n,m)->(m)`.
///
/// # Safety
/// The three operands are cells of the element type.
pub unsafe fn vecmat<D: Dot>(call: &Call) -> Result<(), NumberError> {
    let product = Product {
        rows: 1,
        inner: call.core(1),
        columns: call.core(2),
        left: (0, call.stride(3)),
        right: (call.stride(4), call.stride(5)),
        output: (0, call.stride(6)),
    };
    // SAFETY: the caller's.
    unsafe { products::<D>(call, &product) }
}

/// `matmul`: `(n,k),(k,m)->(n,m)`.
///
/// # Safety
/// The three operands are cells of the element type.
pub unsafe fn matmul<D: Dot>(call: &Call) -> Result<(), NumberError> {
    let product = Product {
        rows: call.core(1),
        inner: call.core(2),
        columns: call.core(3),
        left: (call.stride(3), call.stride(4)),
        right: (call.stride(5), call.stride(6)),
        output: (call.stride(7), call.stride(8)),
    };
    // SAFETY: the caller's.
    unsafe { products::<D>(call, &product) }
}
