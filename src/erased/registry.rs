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
    /// An earlier registration of the name failed when it could not be undone any more.
    GivenUp {
        /// The name.
        name: String,
        /// The module whose registration failed.
        owner: String,
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
            RegistryError::GivenUp { name, owner } => write!(
                f,
                "the registration of {name} by the module {owner} failed after NumPy had its dtype \
                 class, so the name stays taken in this process: mend the cause and start a new one"
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
    /// Whether its registration failed later on.
    given_up: bool,
}

impl Registered {
    /// Why another type cannot have the name.
    fn refuse(&self, name: &str, module: &str) -> RegistryError {
        let (name, owner) = (name.to_owned(), self.module.clone());
        if self.given_up {
            RegistryError::GivenUp { name, owner }
        } else {
            RegistryError::Taken { name, owner, module: module.to_owned() }
        }
    }
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
        match self.elements.entry(element.name().to_owned()) {
            Entry::Occupied(taken) => Err(taken.get().refuse(element.name(), module)),
            Entry::Vacant(vacant) => {
                let element: &'static ElementType = Box::leak(Box::new(element));
                vacant.insert(Registered { element, module: module.to_owned(), given_up: false });
                Ok(element)
            }
        }
    }

    /// Whether a module could register a type of that name.
    ///
    /// # Errors
    /// The name is taken.
    pub fn check(&self, name: &str, module: &str) -> Result<(), RegistryError> {
        self.elements.get(name).map_or(Ok(()), |taken| Err(taken.refuse(name, module)))
    }

    /// Says that the registration of a type failed later on. The type stays, and its name taken:
    /// something may know it already, and a second attempt would leave a second one.
    pub fn give_up(&self, element: &'static ElementType) {
        if let Some(mut found) = self.elements.get_mut(element.name()) {
            found.given_up |= std::ptr::eq(found.element, element);
        }
    }

    /// The type of that name.
    pub fn find(&self, name: &str) -> Option<&'static ElementType> {
        self.elements.get(name).filter(|found| !found.given_up).map(|found| found.element)
    }

    /// All types, by name.
    pub fn all(&self) -> Vec<&'static ElementType> {
        let usable = self.elements.iter().filter(|entry| !entry.given_up);
        let mut all: Vec<_> = usable.map(|entry| entry.element).collect();
        all.sort_by(|left, right| left.name().cmp(right.name()));
        all
    }
}
