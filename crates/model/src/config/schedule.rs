//! `schedule` of a server: times at which it is drained or disabled.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::{build_days, build_schedule_rule};
pub(super) use keys::{DAYS, SCHEDULE};
pub use types::ScheduleRule;
pub(super) use verify::verify_schedule;
