//! TEMP stub
use std::{ops::Range, ptr::NonNull};
#[derive(Debug)]
pub struct AdoptError;
impl std::fmt::Display for AdoptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("x")
    }
}
pub struct Adopted;
pub enum Owner {
    Block(()),
    Adopted(Adopted),
    Foreign,
}
pub fn adopt(_r: Range<usize>, _p: NonNull<()>) -> Result<Adopted, AdoptError> {
    Ok(Adopted)
}
pub fn disown(_s: usize) -> Option<Adopted> {
    None
}
pub fn find(_p: *const u8) -> Owner {
    Owner::Foreign
}
