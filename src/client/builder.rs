//! The builder: what the author of a type says about it. The loops are in `ufuncs`.

use super::batch;
use super::convert;
use super::definition::Definition;
use super::error::{Error, Failure, Outcome};
use super::loops::{Entry, IdentityContext, LoopContext, Owner, Signature, elementwise, identity};
use super::order::{self, Order};
use super::scalar::{NumpyScalar, OperandType};
use super::shared::{Reader, Shared};
use super::storage::{Boxed, InlineDefault, InlineVacant, Storage, StorageChoice, Undecided};
use crate::abi::{self, ConstructFn, ElementVTable, ErrorOut, LoopFn, PyObject};
use std::ffi::{CString, c_void};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;
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

/// How well a cast keeps values: NumPy's casting levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Casting {
    /// Every value survives.
    Safe,
    /// Within a kind.
    SameKind,
    /// Only on request (`astype`).
    Unsafe,
}

impl Casting {
    const fn level(self) -> abi::CastLevel {
        match self {
            Casting::Safe => abi::CAST_SAFE,
            Casting::SameKind => abi::CAST_SAME_KIND,
            Casting::Unsafe => abi::CAST_UNSAFE,
        }
    }
}

pub(super) struct CastEntry {
    pub(super) from: OperandType,
    pub(super) to: OperandType,
    pub(super) level: abi::CastLevel,
    pub(super) function: LoopFn,
    pub(super) context: *mut c_void,
}

pub(super) struct IdentityEntry {
    pub(super) ufunc: CString,
    pub(super) construct: ConstructFn,
    pub(super) context: *mut c_void,
}

/// The description of an element type, made by [`element`].
///
/// `S` is the storage. It may be chosen before the first operation, with
/// [`zero_is_vacant`](ElementBuilder::zero_is_vacant),
/// [`zero_is_default`](ElementBuilder::zero_is_default) or [`boxed`](ElementBuilder::boxed);
/// otherwise cells are tagged, which needs no promise.
#[must_use = "nothing is registered before `add_to`"]
pub struct ElementBuilder<T: 'static, S> {
    pub(super) name: String,
    /// Where Python finds the type, if not in the module that it is added to.
    pub(super) module: Option<String>,
    pub(super) vtable: ElementVTable,
    pub(super) shared: Arc<Shared<T>>,
    pub(super) loops: Vec<Entry>,
    pub(super) casts: Vec<CastEntry>,
    pub(super) identities: Vec<IdentityEntry>,
    pub(super) owners: Vec<Owner>,
    pub(super) scalar_class: *mut PyObject,
    pub(super) documentation: Option<CString>,
    /// The first thing the author got wrong, reported when the type is added.
    pub(super) error: Option<Error>,
    storage: PhantomData<fn() -> S>,
}

/// A vtable of no operations.
const fn empty_vtable(flags: abi::ElementFlags) -> ElementVTable {
    ElementVTable {
        struct_size: size_of::<ElementVTable>(),
        abi_version: abi::ABI_VERSION,
        flags: flags | abi::ELEMENT_TRIVIALLY_RELOCATABLE,
        name: std::ptr::null(),
        language_name: std::ptr::null(),
        size: 0,
        align: 0,
        storage: abi::STORAGE_TAGGED,
        zero_bytes: abi::ZERO_VACANT,
        vacancy_offset: 0,
        vacancy_size: 0,
        context: std::ptr::null_mut(),
        construct: None,
        copy_construct: None,
        assign: None,
        relocate: None,
        destroy: None,
        compare: None,
        sort: None,
        argsort: None,
        nonzero: None,
        hash: None,
        heap_bytes: None,
        to_text: None,
        from_text: None,
        save: None,
        load: None,
        to_python: None,
        from_python: None,
        traverse: None,
        object_size: 0,
        object_align: 0,
    }
}

impl<T: 'static, S> ElementBuilder<T, S> {
    fn new(name: &str, flags: abi::ElementFlags) -> Self {
        ElementBuilder {
            name: name.to_owned(),
            module: None,
            vtable: empty_vtable(flags),
            shared: Arc::new(Shared::new()),
            loops: Vec::new(),
            casts: Vec::new(),
            identities: Vec::new(),
            owners: Vec::new(),
            scalar_class: std::ptr::null_mut(),
            documentation: None,
            error: None,
            storage: PhantomData,
        }
    }

    fn with_storage<R>(self) -> ElementBuilder<T, R> {
        ElementBuilder {
            name: self.name,
            module: self.module,
            vtable: self.vtable,
            shared: self.shared,
            loops: self.loops,
            casts: self.casts,
            identities: self.identities,
            owners: self.owners,
            scalar_class: self.scalar_class,
            documentation: self.documentation,
            error: self.error,
            storage: PhantomData,
        }
    }

    /// Notes the first mistake.
    fn mistake(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    pub(super) fn c_string(&mut self, text: &str) -> CString {
        CString::new(text).unwrap_or_else(|_| {
            self.mistake(Error::value(format!("{text:?} contains a NUL character")));
            CString::default()
        })
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
            self.mistake(Error::value("a type of size 0 cannot promise that zero is vacant"));
        }
        self.with_storage()
    }

    /// Stores T inline, and zero bytes are its default value. Contiguous cells are then a `[T]`,
    /// and no cell is ever vacant.
    ///
    /// # Safety
    /// All bytes zero is a valid value of `T`; it is the default value, and forgetting it loses
    /// nothing, also after it was looked at: it has no part that is built on demand. T is
    /// not of size 0.
    pub unsafe fn zero_is_default(mut self) -> ElementBuilder<T, InlineDefault> {
        if size_of::<T>() == 0 {
            self.mistake(Error::value("a type of size 0 has no bytes to make a promise about"));
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
        this.vtable.copy_construct = Some(batch::copy_construct::<T, S::Decided>);
        this.vtable.assign = Some(batch::assign::<T, S::Decided>);
        let _ = this.shared.clone.set(T::clone);
        this
    }

    /// Vacant cells (those of `np.zeros` and `np.empty`) read as `T::default()`.
    pub fn default(self) -> ElementBuilder<T, S::Decided>
    where
        T: Default,
    {
        let mut this = self.decided();
        this.vtable.construct = Some(batch::construct::<T, S::Decided>);
        let _ = this.shared.default.set(T::default);
        this
    }

    /// Vacant cells read as the value that `make` returns.
    pub fn default_with(self, make: fn() -> T) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.vtable.construct = Some(batch::construct_with::<T, S::Decided>);
        let _ = this.shared.default.set(make);
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
        this.vtable.flags |= abi::ELEMENT_THREAD_SAFE;
        this
    }

    /// Every operation runs with the GIL held, destruction included.
    pub fn needs_gil(self) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.vtable.flags &= !abi::ELEMENT_THREAD_SAFE;
        this.vtable.flags |= abi::ELEMENT_DESTROY_NEEDS_GIL;
        this
    }

    pub(super) fn set_order<O: Order<T>>(&mut self) {
        self.vtable.compare = Some(order::compare::<T, S::Decided, O>);
        self.vtable.sort = Some(order::sort::<T, S::Decided, O>);
        self.vtable.argsort = Some(order::argsort::<T, S::Decided, O>);
    }

    /// Text both ways: `str`, printing, reading strings, and pickle where there is no codec.
    pub fn text(self) -> ElementBuilder<T, S::Decided>
    where
        T: fmt::Display + FromStr<Err: fmt::Display>,
    {
        self.parsed_by(convert::parse)
    }

    /// Text both ways: [`fmt::Display`], and what `parse` makes of a text, whose errors are raised
    /// as they are.
    pub fn text_with<R: Outcome<T>>(
        self,
        parse: impl Fn(&str) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided>
    where
        T: fmt::Display,
    {
        self.parsed_by(move |text, _| parse(text).outcome())
    }

    fn parsed_by(
        self,
        parse: impl Fn(&str, &str) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided>
    where
        T: fmt::Display,
    {
        let mut this = self.display();
        this.vtable.from_text = Some(convert::from_text::<T, S::Decided>);
        let _ = this.shared.parse.set(Box::new(parse));
        this
    }

    /// Text of a value: `str` and printing.
    pub fn display(self) -> ElementBuilder<T, S::Decided>
    where
        T: fmt::Display,
    {
        let mut this = self.decided();
        this.vtable.to_text = Some(convert::to_text::<T, S::Decided>);
        this
    }

    /// Hash of a value, from [`Hash`].
    pub fn hash(self) -> ElementBuilder<T, S::Decided>
    where
        T: Hash,
    {
        self.hash_with(|value| {
            let mut hasher = DefaultHasher::new();
            value.hash(&mut hasher);
            hasher.finish() as i64
        })
    }

    /// Hash of a value. It must agree with the hash of the Python scalar where there is a class
    /// of the author's own.
    pub fn hash_with(
        self,
        hash: impl Fn(&T) -> i64 + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.vtable.hash = Some(convert::hash::<T, S::Decided>);
        let _ = this.shared.hash.set(Box::new(hash));
        this
    }

    /// Whether a value is true in the sense of Python's `bool`.
    pub fn nonzero<R: Outcome<bool>>(
        self,
        truth: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.vtable.nonzero = Some(convert::nonzero::<T, S::Decided>);
        let _ = this.shared.nonzero.set(Box::new(move |value| truth(value).outcome()));
        this
    }

    /// How many heap bytes a value owns beside itself.
    pub fn heap_bytes(
        self,
        bytes: impl Fn(&T) -> usize + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.vtable.heap_bytes = Some(convert::heap_bytes::<T, S::Decided>);
        let _ = this.shared.heap_bytes.set(Box::new(bytes));
        this
    }

    /// Bytes for pickle: `save` writes a value, `load` reads one.
    ///
    /// `load` is given *any* bytes. They come out of a file that may have been changed, and
    /// nothing checks them before: it answers for every invariant of `T`, and fails where they are no
    /// value that `save` would have written. (As a safe function it can do no worse than that; one
    /// that calls `unsafe` code, such as `from_utf8_unchecked`, has to prove what that asks.)
    pub fn codec<B, R>(
        self,
        save: impl Fn(&T) -> B + Send + Sync + 'static,
        load: impl Fn(&[u8]) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided>
    where
        B: Outcome<Vec<u8>>,
        R: Outcome<T>,
    {
        let mut this = self.decided();
        this.vtable.save = Some(convert::save::<T, S::Decided>);
        this.vtable.load = Some(convert::load::<T, S::Decided>);
        let _ = this.shared.save.set(Box::new(move |value| save(value).outcome()));
        let _ = this.shared.load.set(Box::new(move |bytes| load(bytes).outcome()));
        this
    }

    /// Python objects both ways, at pointer level. `from_python` gets a borrowed object; both run
    /// with the GIL held.
    ///
    /// # Safety
    /// `to_python` returns new references, and says [`Failure::Raised`] only when an exception is
    /// set.
    pub unsafe fn python(
        self,
        to_python: impl Fn(&T) -> Result<*mut PyObject, Failure> + Send + Sync + 'static,
        from_python: impl Fn(*mut PyObject) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.vtable.to_python = Some(convert::to_python::<T, S::Decided>);
        this.vtable.from_python = Some(convert::from_python::<T, S::Decided>);
        let _ = this.shared.to_python.set(Box::new(to_python));
        let _ = this.shared.from_python.set(Box::new(from_python));
        this
    }

    /// Values of Python objects, beside the type's own scalars; at pointer level, with the GIL held
    /// and a borrowed object. It says [`Failure::Raised`] only when an exception is set.
    pub fn from_python(
        self,
        from_python: impl Fn(*mut PyObject) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.vtable.from_python = Some(convert::from_python::<T, S::Decided>);
        let _ = this.shared.from_python.set(Box::new(from_python));
        this
    }

    /// The Python class of scalars, instead of one that the runtime makes.
    ///
    /// # Safety
    /// `class` is a Python type that is alive when the type is added.
    pub unsafe fn scalar_class(self, class: *mut PyObject) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.scalar_class = class;
        this
    }

    /// The module in the type's name, and where pickles look for it: for an extension module that
    /// is a private part of a package (as maturin makes it), the package that exports the type.
    pub fn module(self, name: &str) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.module = Some(name.to_owned());
        this
    }

    /// Documentation of the scalar class.
    pub fn documentation(self, text: &str) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.documentation = Some(this.c_string(text));
        this
    }

    /// The value that reductions of `ufunc` start from, and their result for no elements.
    pub fn identity(
        self,
        ufunc: &str,
        make: impl Fn() -> T + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.push_identity(ufunc, make);
        this
    }

    fn push_identity<F: Fn() -> T + Send + Sync + 'static>(&mut self, ufunc: &str, make: F) {
        let ufunc = self.c_string(ufunc);
        let owner = Owner::new(IdentityContext::<T, S::Decided, F> {
            shared: Arc::clone(&self.shared),
            make,
            storage: PhantomData,
        });
        self.identities.push(IdentityEntry {
            ufunc,
            construct: identity::<T, S::Decided, F>,
            context: owner.context(),
        });
        self.owners.push(owner);
    }

    /// The neutral element of addition: the sum of no elements.
    pub fn zero(
        self,
        make: impl Fn() -> T + Clone + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        let _ = this.shared.zero.set(Box::new(make.clone()));
        this.push_identity("add", make);
        this
    }

    /// The default value is the neutral element of addition.
    pub fn default_is_zero(self) -> ElementBuilder<T, S::Decided>
    where
        T: Default,
    {
        self.zero(T::default)
    }

    /// The neutral element of multiplication: the product of no elements.
    pub fn one(
        self,
        make: impl Fn() -> T + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        self.identity("multiply", make)
    }

    /// Casts both ways, where the standard conversions exist. From U it is a safe cast if it
    /// cannot fail, else one within a kind; to U it is unsafe.
    pub fn cast<U>(self) -> ElementBuilder<T, S::Decided>
    where
        U: NumpyScalar + for<'a> TryFrom<&'a T, Error: fmt::Display>,
        T: TryFrom<U, Error: fmt::Display + 'static>,
    {
        let infallible = std::any::TypeId::of::<<T as TryFrom<U>>::Error>()
            == std::any::TypeId::of::<std::convert::Infallible>();
        let level = if infallible { Casting::Safe } else { Casting::SameKind };
        self.cast_from(level, |value: U| {
            T::try_from(value).map_err(|error| Error::value(error.to_string()))
        })
        .cast_to::<U, _>(Casting::Unsafe, |value: &T| {
            U::try_from(value).map_err(|error| Error::value(error.to_string()))
        })
    }

    /// A cast from a NumPy type.
    pub fn cast_from<U: NumpyScalar, R: Outcome<T>>(
        self,
        level: Casting,
        convert: impl Fn(U) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.push_cast(OperandType::numpy::<U>(), OperandType::OWN, level, move |_, [from, to]| {
            // SAFETY: the cast's operands are a U and a cell of ours.
            unsafe { S::Decided::store(to, convert(U::load(from)).outcome()?) };
            Ok(())
        });
        this
    }

    /// A cast to a NumPy type.
    pub fn cast_to<U: NumpyScalar, R: Outcome<U>>(
        self,
        level: Casting,
        convert: impl Fn(&T) -> R + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.push_cast(
            OperandType::OWN,
            OperandType::numpy::<U>(),
            level,
            move |reader, [from, to]| {
                // SAFETY: the cast's operands are a cell of ours and a U.
                unsafe { convert(reader.value(from)?).outcome()?.store(to) };
                Ok(())
            },
        );
        this
    }

    /// A cast of the author's own over whole strided batches, for another element type on one
    /// side ([`OperandType::element`]), or for speed.
    ///
    /// # Safety
    /// `function` does what [`crate::abi::LoopFn`] asks for, for operands of these types; see
    /// [`raw_loop`](Self::raw_loop). One of the two is [`OperandType::OWN`].
    pub unsafe fn raw_cast(
        self,
        from: OperandType,
        to: OperandType,
        level: Casting,
        function: RawLoop,
        context: *mut c_void,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        this.casts.push(CastEntry { from, to, level: level.level(), function, context });
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
        this.vtable.sort = Some(sort);
        this.vtable.argsort = Some(argsort);
        this
    }

    fn push_cast<F>(&mut self, from: OperandType, to: OperandType, level: Casting, step: F)
    where
        F: Fn(&Reader<'_, T, S::Decided>, [*mut u8; 2]) -> Result<(), Failure>
            + Send
            + Sync
            + 'static,
    {
        let owner = Owner::new(LoopContext { shared: Arc::clone(&self.shared), step });
        self.casts.push(CastEntry {
            from,
            to,
            level: level.level(),
            function: elementwise::<T, S::Decided, F, 2>,
            context: owner.context(),
        });
        self.owners.push(owner);
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
        let owner = Owner::new(LoopContext { shared: Arc::clone(&self.shared), step });
        let function: LoopFn = elementwise::<T, S::Decided, F, N>;
        self.push_entry(ufunc, &signature.operands, signature.inputs, function, owner.context());
        self.owners.push(owner);
    }

    pub(super) fn push_entry(
        &mut self,
        ufunc: &str,
        operands: &[abi::Operand],
        input_count: usize,
        function: impl Into<Option<LoopFn>>,
        context: *mut c_void,
    ) {
        let ufunc = self.c_string(ufunc);
        // The last word counts: a loop of the author's own replaces one from a group.
        let same = |left: &abi::Operand, right: &abi::Operand| {
            (left.kind, left.numpy_type, left.element)
                == (right.kind, right.numpy_type, right.element)
        };
        self.loops.retain(|entry| {
            entry.ufunc != ufunc
                || entry.operands.len() != operands.len()
                || !entry.operands.iter().zip(operands).all(|(left, right)| same(left, right))
        });
        self.loops.push(Entry {
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
        this.vtable.size = <Cell<T, S> as Storage<T>>::SIZE;
        this.vtable.align = <Cell<T, S> as Storage<T>>::ALIGN;
        this.vtable.storage = <Cell<T, S> as Storage<T>>::STORAGE;
        this.vtable.zero_bytes = <Cell<T, S> as Storage<T>>::ZERO;
        this.vtable.vacancy_offset = <Cell<T, S> as Storage<T>>::VACANCY_OFFSET;
        this.vtable.vacancy_size = <Cell<T, S> as Storage<T>>::VACANCY_SIZE;
        this.vtable.object_size = size_of::<T>();
        this.vtable.object_align = align_of::<T>();
        if <Cell<T, S> as Storage<T>>::NEEDS_DESTROY {
            this.vtable.destroy = Some(batch::destroy::<T, S::Decided>);
        }
        if this.vtable.storage == abi::STORAGE_INLINE && this.vtable.align > 16 {
            this.mistake(Error::value(
                "a type aligned to more than 16 bytes cannot be stored inline in NumPy arrays",
            ));
        }
        if this.shared.clone.get().is_none() {
            this.loops.retain(|entry| !entry.needs_clone);
        }
        Definition::new(this, module)
    }
}

/// A loop of the author's own, in NumPy's convention. See [`ElementBuilder::raw_loop`].
pub type RawLoop = unsafe extern "C" fn(
    context: *mut c_void,
    arguments: *const *mut u8,
    dimensions: *const isize,
    strides: *const isize,
    error_out: *mut ErrorOut,
) -> abi::Status;
