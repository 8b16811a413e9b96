//! Verifies outlier detection: servers must remain after ejections.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

/// Warns of a written share that is less than one server.
pub fn verify_ejection_share(
    eject: &ConfigSection,
    pool: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let servers = pool.list("servers").len() as u64;
    let Some(share) = eject.count::<u64>("max-percent").filter(|_| eject.is_written("max-percent"))
    else {
        return;
    };
    if share > 0 && servers > 1 && servers * share < 100 {
        let message =
            format!("{share} % of {servers} servers is less than one: none is ever put out");
        let least = format!("share = {}", 100_u64.div_ceil(servers));
        let trouble = FindingDetails::new(message).with_suggestion(Some(least));
        sink.warning(eject.span_of("max-percent"), &format!("{path}.eject.max-percent"), trouble);
    }
}
