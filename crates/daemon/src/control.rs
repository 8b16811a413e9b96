//! Changes and the picture of what is in force: who may ask (`handle`), what for (`order`), and who carries it out
//! (`actor`).
//!
//! How a change is carried out is `reconcile`'s.

pub mod actor;
mod force;
pub mod handle;
pub mod order;
pub mod origin;
pub mod picture;
mod tell;
#[cfg(test)]
mod tests;
mod words;

pub use handle::{Control, Handed};
pub use order::{
    AgentWord, Applied, ApplyError, Change, Generation, Gone, Leave, Planned, Resolution,
    RollbackError, ServerWord, SetServerError, Verdict,
};
pub use origin::{Origin, Way};
pub use picture::{Hand, Judged, Judgement, ListenerFacts, Picture, Resolved, ServerFacts, Word};
