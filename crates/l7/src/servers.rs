//! A worker's own state of services, pools and servers: load balancing choices, idle connection pools, wait queues and
//! the affinity index.

pub(crate) mod idle_pool;
pub(crate) mod wait_queue;
pub(crate) mod worker_state;
