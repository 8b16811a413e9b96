//! A worker's runtime: tasks on one thread, sockets' readiness, one deadline a task.
//!
//! Stories are futures that are polled when one of their sockets became ready, their deadline passed or another
//! task woke them. The world comes in through `Net`, so the same stories run over epoll and over a simulation with
//! virtual time. It owns no socket and knows no protocol.

mod core;
pub mod epoll;
pub mod net;
mod source;
mod task;
mod waker;
mod wheel;

pub use self::core::{Expired, Rt};
pub use self::net::{Connect, Net};
pub use self::source::{Readiness, Source};
pub use self::task::TaskId;
