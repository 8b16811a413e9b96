//! `[pool.NAME]` and its servers.

mod build;
mod diff;
mod keys;
mod lenient_answers;
mod resolve;
mod types;
mod unix_servers;
mod verify;

pub(super) use build::build_pool;
pub use diff::{PoolChange, PoolKey};
pub(super) use diff::{diff_pool, index_servers};
pub(super) use keys::{CONNECT, FIRST_BYTE, IDLE_CONNECTIONS, POOL, QUEUE_LENGTH, QUEUE_TIME};
pub(super) use resolve::resolve_pool;
pub use types::{AllDownPolicy, InitialState, PoolConfig, PoolLimits, PoolTimeouts};
pub(super) use unix_servers::find_unix_server;
pub(super) use verify::verify_pool;
