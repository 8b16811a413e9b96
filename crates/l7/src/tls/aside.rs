//! What a handshake learns on the way and its library keeps to itself: the name that was asked for, and which session a
//! ticket continues.
//!
//! Certificates and tickets are asked for in the middle of a step of the machine, on its thread: what they see is put here
//! and taken by the session after the step. Between steps nothing is here.

use std::cell::RefCell;

/// What was seen.
#[derive(Debug, Default)]
pub struct Aside {
    /// The name that the client asked for, lower case, without the dot of the root.
    pub name: Option<Box<str>>,
    /// The session: the same for every connection that resumes it.
    pub lineage: Option<u64>,
}

impl Aside {
    /// What a further step has shown.
    pub fn add(&mut self, later: Aside) {
        self.name = later.name.or(self.name.take());
        self.lineage = later.lineage;
    }
}

thread_local! {
    static ASIDE: RefCell<Aside> = RefCell::default();
}

/// Before a step of a session of this lineage.
pub fn begin(lineage: Option<u64>) {
    ASIDE.with_borrow_mut(|aside| *aside = Aside { name: None, lineage });
}

/// After it.
pub fn end() -> Aside {
    ASIDE.with_borrow_mut(std::mem::take)
}

/// The client asked for this name.
pub fn named(name: &str) {
    let name = name.trim_end_matches('.').to_ascii_lowercase().into_boxed_str();
    ASIDE.with_borrow_mut(|aside| aside.name = Some(name));
}

/// The client continues this session.
pub fn continues(lineage: u64) {
    ASIDE.with_borrow_mut(|aside| aside.lineage = Some(lineage));
}

/// The lineage that a new ticket carries.
pub fn lineage(draw: impl FnOnce() -> u64) -> u64 {
    ASIDE.with_borrow_mut(|aside| *aside.lineage.get_or_insert_with(draw))
}
