//! The request plane: workers, exchanges, upstream connections.

pub mod socket;
mod sys;
