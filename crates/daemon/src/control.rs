//! Changes and the picture of what is in force: who may ask (`handle`), what for (`order`), and who carries it out
//! (`actor`).
//!
//! How a change is carried out is `reconcile`'s.

pub mod actor;
mod fallen;
mod force;
mod found;
pub mod handle;
mod keeping;
mod operate;
pub mod order;
pub mod origin;
mod passing;
mod patched;
mod permit;
pub mod picture;
mod reach;
mod record;
pub mod sighting;
mod tell;
#[cfg(test)]
mod tests;
mod undo;
mod unkept;
pub mod word;
mod words;
mod write_back;

pub use handle::{Control, Handed};
pub use order::{
    AgentWord, Applied, ApplyError, Change, Generation, Gone, Leave, Patch, Planned, Resolution,
    RollbackError, Verdict,
};
pub use origin::{Origin, Way};
pub use picture::{
    Ejected, Hand, Judged, Judgement, ListenerFacts, Maintain, Picture, Quiesce, Resolved,
    ServerFacts, Share, Word,
};
pub use sighting::Found;
pub use word::{Operate, Operated, SaveError, ServerWord, SetServerError, UndoError, Undone};
