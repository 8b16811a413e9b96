//! Verifies schedules: each must drain or disable.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

/// Requires `drain` or `disable` in each schedule.
pub fn verify_schedule(section: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    for (at, rule) in section.list("schedule").iter().enumerate() {
        if rule.setting("drain").is_none() && rule.setting("disable").is_none() {
            let trouble = FindingDetails::new("the schedule does not say what it wants")
                .with_expected("`drain = \"22:00-06:00\"` or `disable = \"22:00-06:00\"`");
            sink.error(rule.span, &format!("{path}.schedule[{at}]"), trouble);
        }
    }
}
