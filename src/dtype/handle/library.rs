//! The libraries that clients' functions are in, pinned: what the runtime or NumPy may call for the
//! rest of the process is never unloaded.
//!
//! CPython unloads no extension module, but a library that is opened otherwise (by ctypes, by a
//! program's own plug-ins) may be closed while arrays of its types live. The runtime then holds a
//! handle of its own, which cannot be closed by others (`RTLD_NODELETE`).
//!
//! An address in no library is its owner's to keep: code made at run time, closures of libffi (as
//! callbacks of ctypes and cffi are), contexts on a heap.

use crate::abi::{Cast, ElementVTable, Identity, Loop};
use std::{
    collections::HashSet,
    ffi::{CStr, CString, c_int, c_void},
    mem::MaybeUninit,
    ptr,
    sync::{Mutex, PoisonError},
};

/// Why an address is refused.
#[derive(Debug)]
pub struct Unpinnable {
    file: CString,
    reason: String,
}

impl std::fmt::Display for Unpinnable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "is in {}, which cannot be kept loaded ({}): it would be called after the library is \
             gone. Open the library by dlopen, in the namespace of the program, under a path that \
             stays",
            self.file.to_string_lossy(),
            self.reason
        )
    }
}

/// One library, as the loader knows it.
struct Library {
    /// What tells it from others: its entry in the loader's list, or its first address.
    identity: usize,
    /// The name that the loader knows it by.
    file: CString,
}

/// The library that an address is in; `None` for the program itself, which is never unloaded, and
/// for addresses in no library.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn find(address: *const c_void) -> Option<Library> {
    /// Asks for the loader's entry; from `<dlfcn.h>`.
    const RTLD_DL_LINKMAP: c_int = 2;
    /// The head of the loader's `struct link_map`.
    #[repr(C)]
    struct LinkMap {
        base: usize,
        name: *const std::ffi::c_char,
    }
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    let mut map: *mut LinkMap = ptr::null_mut();
    // SAFETY: `dladdr1` only looks an address up. Where it answers, it has written both, and the
    // entry with its name stays as long as the library, which lives during the call: it holds what
    // the caller registers.
    unsafe {
        let out = (&raw mut map).cast::<*mut c_void>();
        if libc::dladdr1(address, found.as_mut_ptr(), out, RTLD_DL_LINKMAP) == 0
            || map.is_null()
            || (*map).name.is_null()
        {
            return None;
        }
        // The program itself has no name there.
        let file = CStr::from_ptr((*map).name).to_owned();
        (!file.is_empty()).then(|| Library { identity: map.addr(), file })
    }
}

/// As above, by what every system has.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn find(address: *const c_void) -> Option<Library> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` only looks an address up. Where it answers, it has filled the struct, whose
    // name stays as long as the library, which lives during the call.
    unsafe {
        if libc::dladdr(address, found.as_mut_ptr()) == 0 {
            return None;
        }
        let found = found.assume_init();
        let file = found.dli_fname;
        (!file.is_null()).then(|| Library {
            identity: found.dli_fbase.addr(),
            file: CStr::from_ptr(file).into(),
        })
    }
}

impl Library {
    /// A handle of this library, which is loaded.
    fn open(&self, flags: c_int) -> Result<*mut c_void, Unpinnable> {
        // SAFETY: with RTLD_NOLOAD nothing is loaded and no code of the library runs.
        let handle =
            unsafe { libc::dlopen(self.file.as_ptr(), flags | libc::RTLD_NOLOAD | libc::RTLD_NOW) };
        let refuse = |reason: String| Err(Unpinnable { file: self.file.clone(), reason });
        if handle.is_null() {
            // SAFETY: the text is the loader's, until the thread's next call.
            let reason = unsafe {
                let text = libc::dlerror();
                if text.is_null() {
                    "the loader does not know it by that name".to_owned()
                } else {
                    CStr::from_ptr(text).to_string_lossy().into_owned()
                }
            };
            return refuse(reason);
        }
        // A handle of glibc's is the loader's entry. Another one has the same name.
        if cfg!(all(target_os = "linux", target_env = "gnu")) && handle.addr() != self.identity {
            // SAFETY: a handle that was opened here.
            unsafe { libc::dlclose(handle) };
            return refuse("another library of that name is loaded".to_owned());
        }
        Ok(handle)
    }
}

/// What is pinned already. Used under the GIL, so that no fork meets it locked.
static PINNED: Mutex<Option<Pinned>> = Mutex::new(None);

#[derive(Default)]
struct Pinned {
    /// The libraries, by identity.
    libraries: HashSet<usize>,
    /// Addresses that were found in one of them: the loader looks through all symbols of a library for
    /// its answer.
    addresses: HashSet<usize>,
}

/// Most addresses that are remembered.
const MOST_ADDRESSES: usize = 4096;

/// Whether an address is known to be in a pinned library.
fn is_known(address: *const c_void) -> bool {
    let pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
    pinned.as_ref().is_some_and(|pinned| pinned.addresses.contains(&address.addr()))
}

/// Whether a library is pinned; an address in it is known from then on.
fn is_pinned(library: &Library, address: *const c_void) -> bool {
    let mut pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
    let pinned = pinned.get_or_insert_default();
    let found = pinned.libraries.contains(&library.identity);
    if found && pinned.addresses.len() < MOST_ADDRESSES {
        pinned.addresses.insert(address.addr());
    }
    found
}

/// Libraries that do not go away while this lives; [`Held::keep`] makes that for good.
#[derive(Default)]
pub struct Held(Vec<(Library, *mut c_void)>);

impl Held {
    /// Holds the library that an address is in, if it is in any.
    ///
    /// # Errors
    /// The library cannot be held.
    pub fn add(&mut self, address: *const c_void) -> Result<(), Unpinnable> {
        if address.is_null() || is_known(address) {
            return Ok(());
        }
        let Some(library) = find(address) else { return Ok(()) };
        let known = self.0.iter().any(|(held, _)| held.identity == library.identity);
        if known || is_pinned(&library, address) {
            return Ok(());
        }
        let handle = library.open(0)?;
        self.0.push((library, handle));
        Ok(())
    }

    /// Keeps them until the process ends, whatever closes them.
    ///
    /// # Errors
    /// One of them cannot be kept; those before it are.
    pub fn keep(mut self) -> Result<(), Unpinnable> {
        while let Some((library, handle)) = self.0.pop() {
            // The loader marks the library; its count does not matter any more.
            let kept = library.open(libc::RTLD_NODELETE);
            // SAFETY: a handle that `add` opened.
            unsafe { libc::dlclose(handle) };
            kept?;
            let mut pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
            pinned.get_or_insert_default().libraries.insert(library.identity);
        }
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for (_, handle) in self.0.drain(..) {
            // SAFETY: a handle that `add` opened.
            unsafe { libc::dlclose(handle) };
        }
    }
}

/// Pins the libraries of some addresses, each with a name for messages.
///
/// # Errors
/// The name of the first whose library cannot be pinned, and why.
pub fn pin<const N: usize>(addresses: [(&str, *const c_void); N]) -> Result<(), String> {
    let mut held = Held::default();
    for (what, address) in addresses {
        held.add(address).map_err(|error| format!("{what} {error}"))?;
    }
    held.keep().map_err(|error| format!("what it refers to {error}"))
}

/// Functions and contexts, with a name for messages.
pub type Addresses = Vec<(String, *const c_void)>;

/// All that a vtable has the runtime call, and what is handed to it.
pub fn of_vtable(vtable: &ElementVTable) -> Addresses {
    // Without `..`: a member that is appended must be thought of.
    let ElementVTable {
        struct_size: _,
        abi_version: _,
        flags: _,
        name: _,
        language_name: _,
        size: _,
        align: _,
        storage: _,
        zero_bytes: _,
        vacancy_offset: _,
        vacancy_size: _,
        object_size: _,
        object_align: _,
        context,
        construct,
        copy_construct,
        assign,
        relocate,
        destroy,
        compare,
        sort,
        argsort,
        nonzero,
        hash,
        heap_bytes,
        to_text,
        from_text,
        save,
        load,
        to_python,
        from_python,
        traverse,
    } = *vtable;
    let mut all = vec![("`context`".to_owned(), context.cast_const())];
    macro_rules! functions {
        ($($member:ident)*) => { $(
            if let Some(function) = $member {
                all.push((format!("`{}`", stringify!($member)), function as *const c_void));
            }
        )* };
    }
    functions!(construct copy_construct assign relocate destroy);
    functions!(compare sort argsort nonzero hash heap_bytes);
    functions!(to_text from_text save load to_python from_python traverse);
    all
}

/// The same of loops, casts and identities.
pub fn of_lists(loops: &[Loop], casts: &[Cast], identities: &[Identity]) -> Addresses {
    let mut all = Addresses::new();
    let mut add = |list: &str, index: usize, function: *const c_void, context: *mut c_void| {
        all.push((format!("the function of {list}[{index}]"), function));
        all.push((format!("the context of {list}[{index}]"), context.cast_const()));
    };
    for (index, entry) in loops.iter().enumerate() {
        let function = entry.function.map_or(ptr::null(), |function| function as *const c_void);
        add("loops", index, function, entry.context);
    }
    for (index, entry) in casts.iter().enumerate() {
        add("casts", index, entry.function as *const c_void, entry.context);
    }
    for (index, entry) in identities.iter().enumerate() {
        add("identities", index, entry.construct as *const c_void, entry.context);
    }
    all
}

/// The file that a type's functions are in. A module has no `__file__` while it is being made.
pub fn file_of(vtable: &ElementVTable) -> Option<String> {
    let function = vtable
        .destroy
        .map(|destroy| destroy as *const c_void)
        .or_else(|| vtable.copy_construct.map(|copy| copy as *const c_void))?;
    find(function).map(|library| library.file.to_string_lossy().into_owned())
}
