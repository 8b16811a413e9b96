//! A worker's runtime: tasks on one thread, readiness of sockets, one deadline per task.
//!
//! Tasks are futures. A task is polled when one of its sockets becomes ready, when its deadline passes, or when another
//! task wakes it. System calls go through `NetDriver`, so the same tasks run over epoll and over a simulation with
//! virtual time.

mod core;
pub mod epoll;
pub mod net_driver;
mod parked_task;
pub(crate) mod random;
pub(crate) mod reserved_descriptors;
pub(crate) mod run_delay;
pub mod socket;
mod source;
pub(crate) mod sys;
mod task;
mod timer_wheel;
mod waker;
pub mod worker_socket;

pub use self::core::{DeadlineError, WorkerRuntime};
pub use self::net_driver::{AcceptedSocket, ConnectTarget, NetDriver};
pub use self::source::{Readiness, ReadinessSource, RegisteredSource};
pub use self::task::TaskId;
