//! Header fields that a rule may write.

use model::config::is_writable_field;

use crate::notes::UnsupportedReason;

/// Checks a field, "name: value".
///
/// # Errors
/// It is no field, or one that the balancer writes itself.
pub fn check_field(field: &str) -> Result<(), UnsupportedReason> {
    if is_writable_field(field) {
        return Ok(());
    }
    let name = field.split(':').next().unwrap_or_default();
    let reason = format!(
        "`{name}` is a field of message framing, which the balancer writes itself, or no field that can be sent"
    );
    Err(UnsupportedReason::new(reason, ""))
}
