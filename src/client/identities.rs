//! The builder's methods that say what reductions start from.

use super::builder::ElementBuilder;
use super::loops::{IdentityContext, Owner, identity};
use super::parts::IdentityEntry;
use super::storage::StorageChoice;
use std::marker::PhantomData;
use std::sync::Arc;

impl<T: 'static, S: StorageChoice<T>> ElementBuilder<T, S> {
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
        let ufunc = self.parts.c_string(ufunc);
        let owner = Owner::new(IdentityContext::<T, S::Decided, F> {
            shared: Arc::clone(&self.parts.shared),
            make,
            storage: PhantomData,
        });
        self.parts.identities.push(IdentityEntry {
            ufunc,
            construct: identity::<T, S::Decided, F>,
            context: owner.context(),
        });
        self.parts.owners.push(owner);
    }

    /// The neutral element of addition: the sum of no elements.
    pub fn zero(
        self,
        make: impl Fn() -> T + Clone + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        let mut this = self.decided();
        let _ = this.parts.shared.zero.set(Box::new(make.clone()));
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
}
