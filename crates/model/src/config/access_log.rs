//! The access log: its keys, and the variables that its lines may have.

mod field;
mod keys;
mod target;
mod variable;
mod verify;

pub use field::{AccessLogField, LogSource, MAX_LOG_FIELDS};
pub(super) use keys::ACCESS_LOG;
pub use target::{SyslogServer, SyslogTls, SyslogTransport};
pub(super) use target::{build_syslog_tls, is_log_target};
pub use variable::LogVariable;
pub(super) use verify::verify_access_log;
