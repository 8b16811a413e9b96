//! `access_log` of listeners and filters, as the one access log.

use crate::document::SourcedValue;
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::reader::{leave_out, note_changed, take_text};
use super::strings::extension_type;

/// The first access log that is a file or a stream of the process, as `[global] access-log`.
pub fn read_logs(node: &ConfigNode, notes: &mut ConversionNotes) -> Option<SourcedValue> {
    let mut found = None;
    for log in node.get("access_log").map(ConfigNode::items).unwrap_or_default() {
        take_text(log, "name", notes);
        let kind = extension_type(log, notes);
        let config = log.get("typed_config");
        let target = match kind {
            "StdoutAccessLog" => Some("stdout"),
            "StderrAccessLog" => Some("stderr"),
            "FileAccessLog" => {
                config.and_then(|config| take_text(config, "path", notes)).map(stream_of)
            }
            _ => None,
        };
        let Some(target) = target else {
            leave_out(
                log,
                "the access log goes to a file or a stream",
                "`[global] access-log`",
                notes,
            );
            continue;
        };
        for other in
            log.unread_entries().chain(config.into_iter().flat_map(ConfigNode::unread_entries))
        {
            let reason = "the access log has a form of its own, and there is one for all services";
            note_changed(other, reason, "`[global] access-log`", notes);
        }
        let pairs = [KeyValue::new("all", "true"), KeyValue::new("target", value::quote(target))];
        found = found.or(Some(SourcedValue { value: value::table(&pairs), source: log.source }));
    }
    found
}

fn stream_of(path: &str) -> &str {
    match path {
        "/dev/stdout" => "stdout",
        "/dev/stderr" => "stderr",
        other => other,
    }
}
