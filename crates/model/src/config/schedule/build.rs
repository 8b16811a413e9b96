//! Builds schedules of the checked configuration.

use super::keys::DAYS;
use super::types::ScheduleRule;
use crate::config::admin_state::AdminState;
use crate::config::section::ConfigSection;
use crate::config::value::ConfigValue;

/// One bit for each of the seven days.
const EVERY_DAY: u8 = 0b111_1111;

/// `None`: the rule is faulty and has been reported.
pub fn build_schedule_rule(section: &ConfigSection) -> Option<ScheduleRule> {
    let hours = |key| match section.value(key) {
        Some(ConfigValue::DailyWindow(hours)) => Some(*hours),
        _ => None,
    };
    let disable = hours("disable").map(|hours| (AdminState::Disabled, hours));
    let (what, hours) =
        disable.or_else(|| hours("drain").map(|hours| (AdminState::Drain, hours)))?;
    Some(ScheduleRule { what, hours, days: build_days(section), sticky: section.time("sticky") })
}

/// Days of the week as bits, Monday the lowest; none written means all.
pub fn build_days(section: &ConfigSection) -> u8 {
    let bit = |day: &&str| DAYS.iter().position(|word| word.name == *day).unwrap_or(0);
    let days = section.keywords("days").iter().fold(0, |days, day| days | 1 << bit(day));
    if days == 0 { EVERY_DAY } else { days }
}
