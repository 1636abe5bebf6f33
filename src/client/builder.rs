//! The builder: what the author of a type says about it. Loops are in `ufuncs`, `groups`,
//! `linear_algebra` and `float_functions`, casts in `casts`, the rest in `values` and `identities`.

use super::batch;
use super::definition::Definition;
use super::error::Error;
use super::error::Failure;
#[cfg(feature = "testing")]
use super::error::Outcome;
use super::loops::{Entry, LoopContext, Owner, Signature, elementwise};
use super::order::{self, Order};
use super::parts::Parts;
#[cfg(feature = "testing")]
use super::scalar::OperandType;
use super::shared::Reader;
use super::storage::{Boxed, InlineDefault, InlineVacant, Storage, StorageChoice, Undecided};
use crate::abi::{self, LoopFn, PyObject};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

/// Starts the description of an element type that stores values of `T`; `name` is the name of
/// its scalar class.
///
/// ```no_run
/// # unsafe fn register(module: *mut denizen::abi::PyObject) -> Result<(), denizen::Raised> {
/// #[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
/// struct Tag(String);
///
/// let tag = denizen::element::<Tag>("Tag").clone().default().ordering();
/// // SAFETY: the module is alive and the GIL is held.
/// unsafe { tag.add_to_raw(module) }?;
/// # Ok(())
/// # }
/// ```
///
/// A type that is not `Send` does not compile here, see [`element_under_gil`]:
/// ```compile_fail,E0277
/// denizen::element::<std::rc::Rc<i32>>("Shared");
/// ```
pub fn element<T: Send + 'static>(name: &str) -> ElementBuilder<T, Undecided> {
    ElementBuilder::new(name, 0)
}

/// [`element`] for a type that is not `Send`. Every operation, destruction included, runs with
/// the GIL held, though on any thread.
///
/// # Safety
/// The GIL is all the exclusion that `T` needs: its values may be used on one thread and later on
/// another (so nothing in them belongs to a thread), and whatever they share (the counter of an
/// `Rc`) is touched elsewhere under the GIL only.
pub unsafe fn element_under_gil<T: 'static>(name: &str) -> ElementBuilder<T, Undecided> {
    ElementBuilder::new(name, abi::ELEMENT_DESTROY_NEEDS_GIL)
}

/// The description of an element type, made by [`element`].
///
/// `S` is the storage. It may be chosen before the first operation, with
/// [`zero_is_vacant`](ElementBuilder::zero_is_vacant),
/// [`zero_is_default`](ElementBuilder::zero_is_default) or [`boxed`](ElementBuilder::boxed);
/// otherwise cells are tagged, which needs no promise.
#[must_use = "nothing is registered before `add_to`"]
pub struct ElementBuilder<T: 'static, S> {
    pub(super) parts: Parts<T>,
    storage: PhantomData<fn() -> S>,
}

impl<T: 'static, S> ElementBuilder<T, S> {
    fn new(name: &str, flags: abi::ElementFlags) -> Self {
        ElementBuilder { parts: Parts::new(name, flags), storage: PhantomData }
    }

    fn with_storage<R>(self) -> ElementBuilder<T, R> {
        ElementBuilder { parts: self.parts, storage: PhantomData }
    }
}

impl<T: 'static> ElementBuilder<T, Undecided> {
    /// Stores T inline, and zero bytes mean a vacant cell. Contiguous cells are then a `[T]`.
    ///
    /// # Safety
    /// No value of `T` ever has all its bytes zero, and T has no padding bytes. (`String`,
    /// `Vec<U>` and `Box<U>` are such types: they hold a pointer that is never null.)
    pub unsafe fn zero_is_vacant(mut self) -> ElementBuilder<T, InlineVacant> {
        if size_of::<T>() == 0 {
            self.parts.mistake(Error::value("a type of size 0 cannot promise that zero is vacant"));
        }
        self.with_storage()
    }

    /// Stores T inline, and zero bytes are its default value. Contiguous cells are then a `[T]`,
    /// and no cell is ever vacant.
    ///
    /// # Safety
    /// All bytes zero is a valid value of `T`; it is the default value, and forgetting it loses
    /// nothing, also after it was looked at: it has no part that is built when it is asked for. T is
    /// not of size 0.
    pub unsafe fn zero_is_default(mut self) -> ElementBuilder<T, InlineDefault> {
        if size_of::<T>() == 0 {
            self.parts
                .mistake(Error::value("a type of size 0 has no bytes to make a promise about"));
        }
        self.with_storage()
    }

    /// Keeps each object in an allocation of its own: its address stays the same while it lives.
    pub fn boxed(self) -> ElementBuilder<T, Boxed> {
        self.with_storage()
    }
}

impl<T: 'static, S: StorageChoice<T>> ElementBuilder<T, S> {
    pub(crate) fn decided(self) -> ElementBuilder<T, S::Decided> {
        self.with_storage()
    }

    /// A loop without inputs, which stores what `make` gives: the way of the testing tools to put
    /// values into cells.
    #[cfg(feature = "testing")]
    pub(crate) fn nullary<R: Outcome<T>>(
        self,
        ufunc: &str,
        make: impl Fn() -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        let signature = Signature { operands: [OperandType::OWN.operand()], inputs: 0 };
        this.push_loop(ufunc, signature, move |_, [out]| {
            // SAFETY: the operand is a cell of ours.
            unsafe { S::Decided::store(out, make().outcome()?) };
            Ok(())
        });
        this
    }

    /// Elements can be copied.
    pub fn clone(self) -> ElementBuilder<T, S::Decided>
    where
        T: Clone,
    {
        let mut this = self.decided();
        this.parts.vtable.copy_construct = Some(batch::copy_construct::<T, S::Decided>);
        this.parts.vtable.assign = Some(batch::assign::<T, S::Decided>);
        let _ = this.parts.shared.clone.set(T::clone);
        this
    }

    /// Vacant cells (those of `np.zeros` and `np.empty`) read as `T::default()`.
    pub fn default(self) -> ElementBuilder<T, S::Decided>
    where
        T: Default,
    {
        let mut this = self.decided();
        this.parts.vtable.construct = Some(batch::construct::<T, S::Decided>);
        let _ = this.parts.shared.default.set(T::default);
        this
    }

    /// Vacant cells read as the value that `make` returns.
    pub fn default_with(self, make: fn() -> T) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.parts.vtable.construct = Some(batch::construct_with::<T, S::Decided>);
        let _ = this.parts.shared.default.set(make);
        this
    }

    /// Values may be used from several threads at once: loops run without the GIL.
    ///
    /// The builder cannot find this out by itself, a bound can only be asked for; so it is said
    /// here, and the compiler checks it.
    ///
    /// **A type whose functions use Python is not one of these**, though `Send + Sync` holds: say
    /// [`Self::needs_gil`]. `Python::attach` does not help in a loop that NumPy runs without the GIL:
    /// pyo3 counts attachments a thread and an extension module, and below a function of the same
    /// module that is attached (a `#[pyfunction]` that calls NumPy) it takes the count for the GIL,
    /// which NumPy has given up. Nothing here can see that frame.
    pub fn thread_safe(self) -> ElementBuilder<T, S::Decided>
    where
        T: Send + Sync,
    {
        let mut this = self.decided();
        this.parts.vtable.flags |= abi::ELEMENT_THREAD_SAFE;
        this
    }

    /// Every operation runs with the GIL held, destruction included.
    pub fn needs_gil(self) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.parts.vtable.flags &= !abi::ELEMENT_THREAD_SAFE;
        this.parts.vtable.flags |= abi::ELEMENT_DESTROY_NEEDS_GIL;
        this
    }

    pub(super) fn set_order<O: Order<T>>(&mut self) {
        self.parts.vtable.compare = Some(order::compare::<T, S::Decided, O>);
        self.parts.vtable.sort = Some(order::sort::<T, S::Decided, O>);
        self.parts.vtable.argsort = Some(order::argsort::<T, S::Decided, O>);
    }

    /// The Python class of scalars, instead of one that the runtime makes.
    ///
    /// # Safety
    /// `class` is a Python type that is alive when the type is added.
    pub unsafe fn scalar_class(self, class: *mut PyObject) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.parts.scalar_class = class;
        this
    }

    /// The module in the type's name, and where pickles look for it: for an extension module that
    /// is a private part of a package (as maturin makes it), the package that exports the type.
    pub fn module(self, name: &str) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.parts.module = Some(name.to_owned());
        this
    }

    /// Documentation of the scalar class.
    pub fn documentation(self, text: &str) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.parts.documentation = Some(this.parts.c_string(text));
        this
    }

    /// Replaces the sort and argsort of [`ordering`](Self::ordering) by the author's own, in the
    /// same order.
    ///
    /// # Safety
    /// They do what [`abi::SortFn`] and [`abi::ArgsortFn`] ask for, and never unwind.
    pub unsafe fn raw_sort(
        self,
        sort: abi::SortFn,
        argsort: abi::ArgsortFn,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.parts.vtable.sort = Some(sort);
        this.parts.vtable.argsort = Some(argsort);
        this
    }

    /// Adds a loop that visits one element after the other.
    pub(super) fn push_loop<F, const N: usize>(
        &mut self,
        ufunc: &str,
        signature: Signature<N>,
        step: F,
    ) where
        F: Fn(&Reader<'_, T, S::Decided>, [*mut u8; N]) -> Result<(), Failure>
            + Send
            + Sync
            + 'static,
    {
        let owner = Owner::new(LoopContext { shared: Arc::clone(&self.parts.shared), step });
        let function: LoopFn = elementwise::<T, S::Decided, F, N>;
        self.push_entry(ufunc, &signature.operands, signature.inputs, function, owner.context());
        self.parts.owners.push(owner);
    }

    pub(super) fn push_entry(
        &mut self,
        ufunc: &str,
        operands: &[abi::Operand],
        input_count: usize,
        function: impl Into<Option<LoopFn>>,
        context: *mut c_void,
    ) {
        let ufunc = self.parts.c_string(ufunc);
        // The last word counts: a loop of the author's own replaces one from a group.
        let same = |left: &abi::Operand, right: &abi::Operand| {
            (left.kind, left.numpy_type, left.element)
                == (right.kind, right.numpy_type, right.element)
        };
        self.parts.loops.retain(|entry| {
            entry.ufunc != ufunc
                || entry.operands.len() != operands.len()
                || !entry.operands.iter().zip(operands).all(|(left, right)| same(left, right))
        });
        self.parts.loops.push(Entry {
            ufunc,
            operands: operands.to_vec(),
            input_count,
            function: function.into(),
            context,
            needs_clone: false,
        });
    }

    /// Ends the description. `module` is the name of the module that the type will be part of,
    /// unless [`module`](Self::module) said another.
    ///
    /// # Errors
    /// The first mistake in the description.
    pub fn define(self, module: &str) -> Result<Definition<T>, Error> {
        let mut this = self.decided();
        type Cell<T, S> = <S as StorageChoice<T>>::Decided;
        this.parts.vtable.size = <Cell<T, S> as Storage<T>>::SIZE;
        this.parts.vtable.align = <Cell<T, S> as Storage<T>>::ALIGN;
        this.parts.vtable.storage = <Cell<T, S> as Storage<T>>::STORAGE;
        this.parts.vtable.zero_bytes = <Cell<T, S> as Storage<T>>::ZERO;
        this.parts.vtable.vacancy_offset = <Cell<T, S> as Storage<T>>::VACANCY_OFFSET;
        this.parts.vtable.vacancy_size = <Cell<T, S> as Storage<T>>::VACANCY_SIZE;
        this.parts.vtable.object_size = size_of::<T>();
        this.parts.vtable.object_align = align_of::<T>();
        if <Cell<T, S> as Storage<T>>::NEEDS_DESTROY {
            this.parts.vtable.destroy = Some(batch::destroy::<T, S::Decided>);
        }
        if this.parts.vtable.storage == abi::STORAGE_INLINE && this.parts.vtable.align > 16 {
            this.parts.mistake(Error::value(
                "a type aligned to more than 16 bytes cannot be stored inline in NumPy arrays",
            ));
        }
        if this.parts.shared.clone.get().is_none() {
            this.parts.loops.retain(|entry| !entry.needs_clone);
        }
        Definition::new(this.parts, module)
    }
}
