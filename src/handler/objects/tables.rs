//! Which stores there are. No function of a client runs under this lock, which is held for
//! look-ups only.

use super::{
    foreign::ForeignStore,
    handle::{Generations, Handle},
    owned::Owned,
};
use crate::{
    erased::{ElementType, Failure},
    segment::Segment,
};
use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

/// One place where objects of one type are kept.
pub(super) enum Store {
    /// The objects of one array.
    Owned(Owned),
    /// Those in foreign memory.
    Foreign(ForeignStore),
}

/// All stores.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) stores: HashMap<u32, Store>,
    /// The lent objects of each type, by the type's address.
    lenders: HashMap<usize, u32>,
    last: u32,
    pub(super) generations: Generations,
}

static TABLES: LazyLock<Mutex<Tables>> = LazyLock::new(Mutex::default);

/// The tables, for a moment.
pub(super) fn lock() -> MutexGuard<'static, Tables> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tables {
    /// A number that no store has.
    fn number(&mut self) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            if self.last != 0 && !self.stores.contains_key(&self.last) {
                return self.last;
            }
        }
    }

    /// A store for the objects of an array of so many cells.
    pub(super) fn new_owned(
        &mut self,
        element: &'static ElementType,
        count: usize,
    ) -> Result<u32, Failure> {
        let id = self.number();
        self.stores.insert(id, Store::Owned(Owned::new(element, id, count)?));
        Ok(id)
    }

    /// The objects of an array, by the number of the store.
    pub(super) fn owned(&mut self, id: u32) -> Option<&mut Owned> {
        match self.stores.get_mut(&id)? {
            Store::Owned(owned) => Some(owned),
            Store::Foreign(_) => None,
        }
    }

    /// The lent objects of a type, if any ever were.
    pub(super) fn foreign(&mut self, element: &ElementType) -> Option<&mut ForeignStore> {
        let id = self.lenders.get(&std::ptr::from_ref(element).addr())?;
        match self.stores.get_mut(id)? {
            Store::Foreign(foreign) => Some(foreign),
            Store::Owned(_) => None,
        }
    }

    /// Makes the store for [`Self::foreign`].
    pub(super) fn ensure_foreign(&mut self, element: &'static ElementType) -> u32 {
        let address = std::ptr::from_ref(element).addr();
        if let Some(id) = self.lenders.get(&address) {
            return *id;
        }
        let id = self.number();
        self.stores.insert(id, Store::Foreign(ForeignStore::new(element, id)));
        self.lenders.insert(address, id);
        id
    }

    /// What a name means now: the type, and the segment and cell where the object is (if there is
    /// one).
    pub(super) fn resolve(
        &mut self,
        name: Handle,
    ) -> Option<(&'static ElementType, Segment, usize)> {
        match self.stores.get_mut(&name.store)? {
            Store::Owned(owned) => {
                let slot = owned.slot_of(name)?;
                Some((owned.element, owned.objects, slot as usize))
            }
            Store::Foreign(foreign) => {
                let slot = foreign.slot_of(name)?;
                let (segment, cell) = foreign.place_of(slot);
                Some((foreign.element, segment, cell))
            }
        }
    }

    /// The name of what is in a store's slot now.
    pub(super) fn name(&mut self, store: u32, slot: u32) -> Option<Handle> {
        let generations = &mut self.generations;
        Some(match self.stores.get_mut(&store)? {
            Store::Owned(owned) => owned.name(slot, generations),
            Store::Foreign(foreign) => foreign.name(slot, generations),
        })
    }

    /// Gives a store's slot up.
    pub(super) fn disown(&mut self, store: u32, slot: u32) {
        match self.stores.get_mut(&store) {
            Some(Store::Owned(owned)) => owned.disown(slot),
            Some(Store::Foreign(foreign)) => foreign.disown(slot),
            None => {}
        }
    }
}
