//! Scheduled drains and maintenance: the state that a server should have at a local time. Pure: it receives the local
//! time.
//!
//! A window over midnight belongs to the day on which it starts. When the local clock changes, local time counts: a
//! window inside a skipped hour does not occur, one inside a repeated hour occurs twice.

use crate::calendar::{DAY, weekday};
use crate::config::{AdminState, ScheduleRule};

/// The rule that applies at this local time (seconds since 1970); `None`: none. If several apply, `Disabled` precedes
/// `Drain`.
pub fn active_rule(rules: &[ScheduleRule], local_seconds: i64) -> Option<&ScheduleRule> {
    let open = || rules.iter().filter(|rule| is_open(rule, local_seconds));
    open().find(|rule| rule.what == AdminState::Disabled).or_else(|| open().next())
}

/// Start of the hours of a rule that is active now, in seconds since 1970 of local time.
pub fn opened_at(rule: &ScheduleRule, local_seconds: i64) -> i64 {
    let midnight = local_seconds - local_seconds.rem_euclid(DAY);
    let from = i64::from(rule.hours.from) * 60;
    if midnight + from <= local_seconds { midnight + from } else { midnight + from - DAY }
}

fn is_open(rule: &ScheduleRule, local_seconds: i64) -> bool {
    let minute = local_seconds.rem_euclid(DAY) / 60;
    let (from, to) = (i64::from(rule.hours.from), i64::from(rule.hours.to));
    let on = |seconds: i64| rule.days & (1 << weekday(seconds)) != 0;
    if from < to {
        return (from..to).contains(&minute) && on(local_seconds);
    }
    (minute >= from && on(local_seconds)) || (minute < to && on(local_seconds - DAY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::CivilDateTime;
    use crate::config::DailyWindow;

    const EVERY_DAY: u8 = 0b111_1111;

    fn rule(what: AdminState, from: u16, to: u16, days: u8) -> ScheduleRule {
        ScheduleRule {
            what,
            hours: DailyWindow { from: from * 60, to: to * 60 },
            days,
            sticky: None,
        }
    }

    fn at(text: &str) -> i64 {
        CivilDateTime::parse(text).unwrap().civil.unix_seconds()
    }

    #[test]
    fn windows_by_day_and_hour() {
        let night = rule(AdminState::Drain, 22, 6, EVERY_DAY);
        // 2026-11-20 is a Friday.
        let friday_night = rule(AdminState::Drain, 22, 6, 1 << 4);
        let noon = rule(AdminState::Drain, 12, 13, 1 << 4);
        let whole = rule(AdminState::Drain, 0, 0, 1 << 4);
        for (rule, text, open) in [
            (night, "2026-11-20T21:59:59", false),
            (night, "2026-11-20T22:00", true),
            (night, "2026-11-21T05:59:59", true),
            (night, "2026-11-21T06:00", false),
            (friday_night, "2026-11-20T02:00", false),
            (friday_night, "2026-11-20T23:00", true),
            (friday_night, "2026-11-21T02:00", true),
            (friday_night, "2026-11-21T23:00", false),
            (noon, "2026-11-20T12:59:59", true),
            (noon, "2026-11-20T13:00", false),
            (noon, "2026-11-19T12:30", false),
            (whole, "2026-11-19T23:59:59", false),
            (whole, "2026-11-20T00:00", true),
            (whole, "2026-11-20T23:59:59", true),
            (whole, "2026-11-21T00:00", false),
        ] {
            assert_eq!(active_rule(&[rule], at(text)).is_some(), open, "{rule:?} {text}");
        }
    }

    #[test]
    fn hours_began_today_or_yesterday() {
        let night = rule(AdminState::Drain, 22, 6, EVERY_DAY);
        let noon = rule(AdminState::Drain, 12, 13, EVERY_DAY);
        for (rule, now, began) in [
            (night, "2026-11-20T22:00", "2026-11-20T22:00"),
            (night, "2026-11-21T05:59:59", "2026-11-20T22:00"),
            (noon, "2026-11-20T12:59:59", "2026-11-20T12:00"),
            (rule_all_day(), "2026-11-20T00:00", "2026-11-20T00:00"),
            (rule_all_day(), "2026-11-20T23:59", "2026-11-20T00:00"),
        ] {
            assert_eq!(opened_at(&rule, at(now)), at(began), "{rule:?} {now}");
        }
    }

    fn rule_all_day() -> ScheduleRule {
        rule(AdminState::Drain, 0, 0, EVERY_DAY)
    }

    #[test]
    fn the_graver_word_counts() {
        let rules =
            [rule(AdminState::Drain, 1, 5, EVERY_DAY), rule(AdminState::Disabled, 2, 3, EVERY_DAY)];
        let wanted = |text| active_rule(&rules, at(text)).map(|rule| rule.what);
        assert_eq!(wanted("2026-11-20T01:30"), Some(AdminState::Drain));
        assert_eq!(wanted("2026-11-20T02:30"), Some(AdminState::Disabled));
        assert_eq!(wanted("2026-11-20T05:00"), None);
    }

    /// Central Europe in 2026: an hour ahead, two from 29 March 01:00 to 25 October 01:00 UTC.
    fn local(utc: i64) -> i64 {
        let summer = (at("2026-03-29T01:00")..at("2026-10-25T01:00")).contains(&utc);
        utc + if summer { 7_200 } else { 3_600 }
    }

    #[test]
    fn where_the_clock_jumps_the_wall_counts() {
        let lost = [rule(AdminState::Drain, 2, 3, EVERY_DAY)];
        let minutes = |from: &str, hours: i64| {
            let start = at(from);
            (0..hours * 60).map(move |minute| start + minute * 60)
        };
        let open = |from: &str| {
            minutes(from, 24).filter(|utc| active_rule(&lost, local(*utc)).is_some()).count()
        };
        assert_eq!(open("2026-03-28T12:00"), 0, "02:00 to 03:00 is left out that night");
        assert_eq!(open("2026-10-24T12:00"), 120, "and comes twice in that one");
        assert_eq!(open("2026-06-01T12:00"), 60);
        let night = [rule(AdminState::Drain, 22, 6, EVERY_DAY)];
        let open = |from: &str| {
            minutes(from, 24).filter(|utc| active_rule(&night, local(*utc)).is_some()).count()
        };
        assert_eq!((open("2026-03-28T12:00"), open("2026-10-24T12:00")), (7 * 60, 9 * 60));
    }
}
