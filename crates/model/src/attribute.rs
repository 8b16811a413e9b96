//! Whose time an exchange took, live: phases, for whom the relay waited, and what the kernel counted of both sockets.
//!
//! `judge` is arithmetic over facts that a worker measured; it reads no clock and no socket. What the balancer cannot
//! see from where it stands is said to be unknown, and the parts sum to the whole in every case.

pub mod advice;
mod bars;
pub mod evidence;
pub mod judge;
pub mod network;
pub mod slow;
pub mod tcp;
pub mod waits;
mod words;

pub use bars::{Bar, Bars};
pub use evidence::{Facts, Flags, Phases, Traced};
pub use judge::judge;
pub use slow::{Filter, Group, Pile, Slow};
pub use tcp::{Change, Tcp};
pub use waits::{For, Waits};
pub use words::WORDS;

#[cfg(test)]
mod tests;
