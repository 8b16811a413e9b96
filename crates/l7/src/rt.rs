//! A worker's runtime: tasks on one thread, sockets' readiness, one deadline a task.
//!
//! Stories are futures that are polled when one of their sockets became ready, their deadline passed or another
//! task woke them. The world comes in through `Net`, so the same stories run over epoll and over a simulation with
//! virtual time. It owns no socket and knows no protocol.

mod core;
pub mod epoll;
pub mod net_driver;
pub(crate) mod random;
pub(crate) mod reserved_descriptors;
pub mod socket;
mod source;
pub(crate) mod sys;
mod task;
mod timer_wheel;
mod waker;

pub use self::core::{DeadlineExpired, WorkerRuntime};
pub use self::net_driver::{ConnectTarget, NetDriver};
pub use self::source::{Readiness, ReadinessSource};
pub use self::task::TaskId;
