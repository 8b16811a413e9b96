//! Verifies service discovery: a name or a file, and a port unless SRV records contain one.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

/// Requires either a name or a file, and a port unless SRV records contain one.
pub fn verify_discovery(pool: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let Some(from) = pool.table("servers-from") else { return };
    let path = format!("{path}.servers-from");
    let dns = from.setting("dns").is_some();
    if !dns && from.setting("file").is_none() {
        let trouble = FindingDetails::new("the source does not say where to look")
            .with_expected("`dns = \"web.internal\"` or `file = \"/etc/steelyard/web\"`");
        sink.error(from.span, &path, trouble);
    }
    let srv = from.text("type") == Some("srv");
    if dns && !srv && from.setting("port").is_none() {
        let trouble =
            FindingDetails::new("addresses come without a port").with_expected("`port = 8080`");
        sink.error(from.span, &format!("{path}.port"), trouble);
    }
    if dns && srv && from.is_written("port") {
        let trouble = FindingDetails::new("SRV records bring their own port");
        sink.error(from.span_of("port"), &format!("{path}.port"), trouble);
    }
    let (min, max): (Option<u64>, Option<u64>) = (from.count("min"), from.count("max"));
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        let trouble = FindingDetails::new(format!("at least {min} and at most {max} servers"));
        sink.error(from.span_of("min"), &format!("{path}.min"), trouble);
    }
}
