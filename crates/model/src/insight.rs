//! What is seen of connections whose packets are forwarded: the datapath writes down what the packets of one in so many
//! show, and here it becomes whose time it was, and why, in the words that exchanges and captures are explained with.
//!
//! Pure: what was read and the time come in. How packets become figures is the datapath's own.

pub mod advice;
mod follow;
mod judge;
mod pile;
mod seen;

pub use follow::{Change, Follow, Opened, Unfinished};
pub use judge::judge;
pub use pile::{Filter, Found, PILE, Pile, Times};
pub use seen::{Scale, Seen, Side, Told};

#[cfg(test)]
mod tests;
