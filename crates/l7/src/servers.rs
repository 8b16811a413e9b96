//! A worker's view of pools and servers: idle connections and wait queues.

pub(crate) mod idle_pool;
pub(crate) mod wait_queue;
pub(crate) mod worker_state;
