//! The registered element types, by name. Types never unload.

use super::ElementType;
use dashmap::{DashMap, Entry};

/// Why a name could not be registered or found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistryError {
    /// The name is taken.
    Taken {
        /// The name.
        name: String,
        /// The module that registered it.
        owner: String,
        /// The module that wanted it too.
        module: String,
    },
}

impl std::fmt::Display for RegistryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RegistryError::Taken { name, owner, module } if owner == module => write!(
                f,
                "the module {owner} registered the element type {name} already: each type of a \
                 module needs a name of its own, and a module registers its types once a process"
            ),
            RegistryError::Taken { name, owner, module } => write!(
                f,
                "the module {owner} registered the element type {name} already, so {module} \
                 cannot; a type that several modules share is registered by one and found by the \
                 others"
            ),
        }
    }
}

impl std::error::Error for RegistryError {}

/// Name -> element type.
#[derive(Default)]
pub struct Registry {
    elements: DashMap<String, Registered>,
}

/// A registered type.
struct Registered {
    element: &'static ElementType,
    /// The module that registered it; not always the one in the type's name.
    module: String,
}

impl Registry {
    /// Registers a type for the rest of the process, on behalf of a module.
    ///
    /// # Errors
    /// The name is taken; the type is dropped.
    pub fn register(
        &self,
        element: ElementType,
        module: &str,
    ) -> Result<&'static ElementType, RegistryError> {
        let module = module.to_owned();
        match self.elements.entry(element.name().to_owned()) {
            Entry::Occupied(taken) => Err(RegistryError::Taken {
                name: taken.key().clone(),
                owner: taken.get().module.clone(),
                module,
            }),
            Entry::Vacant(vacant) => {
                let element: &'static ElementType = Box::leak(Box::new(element));
                vacant.insert(Registered { element, module });
                Ok(element)
            }
        }
    }

    /// Takes a name out again, for a registration that failed later on. The type itself stays
    /// allocated: something may know it already.
    pub fn withdraw(&self, element: &'static ElementType) {
        self.elements.remove_if(element.name(), |_, found| std::ptr::eq(found.element, element));
    }

    /// The type of that name.
    pub fn find(&self, name: &str) -> Option<&'static ElementType> {
        self.elements.get(name).map(|found| found.element)
    }

    /// All types, by name.
    pub fn all(&self) -> Vec<&'static ElementType> {
        let mut all: Vec<_> = self.elements.iter().map(|entry| entry.value().element).collect();
        all.sort_by(|left, right| left.name().cmp(right.name()));
        all
    }
}
