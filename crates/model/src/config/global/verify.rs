//! Verifies contradictions between settings of the process.

use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::request_limits::verify_target_limit;
use crate::config::{access_log, control, event_hook, socket, unsupported_keys};

pub fn verify_global(effective: &EffectiveSettings, sink: &mut FindingCollector<'_, '_>) {
    event_hook::verify_hooks(&effective.global, sink);
    control::verify_remote_api(&effective.global, sink);
    control::verify_own_socket(&effective.global, &effective.pools, sink);
    if let Some(socket) = effective.global.table("socket") {
        socket::verify_socket(socket, "global.socket", sink);
    }
    if let Some(limit) = effective.global.table("limit") {
        verify_target_limit(limit, "global.limit", sink);
    }
    let log = effective.global.table("access-log");
    if let Some(log) = log {
        access_log::verify_access_log(log, sink);
    }
    if let Some(log) = log.filter(|log| log.text("target") == Some("off")) {
        for key in unsupported_keys::written_keys(log, "target") {
            let trouble = FindingDetails::new(format!("`{key}` has no effect: `target = \"off\"`"));
            sink.warning(log.span_of(key), &format!("global.access-log.{key}"), trouble);
        }
    }
}
