//! Load balancing: the keys of `[pool.NAME]` and its servers that control it.

mod build;
mod keys;
mod resolve;
mod types;
mod verify;

pub(super) use build::{
    build_balance, build_hash_key, build_locality, build_priority, build_weight_controller,
};
pub(super) use keys::{
    BACKUP, BALANCE, HASH_ON, JUDGE, LAST_RESORT, LOCALITY, POOL_LOCALITY, PRIORITY, SLOW_START,
    SPILL_OVER,
};
pub(super) use resolve::fill_balance_defaults;
pub use types::{BalancePolicy, HashKey, Priority, WeightControllerConfig};
pub(super) use verify::verify_balance;
