//! Rows of the state machine: state, input, actions.

use std::time::Duration;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn at(ms: u32) -> MonotonicTime {
    MonotonicTime(1_000_000_000) + MS * ms
}

fn begun(settings: VrrpSettings) -> VrrpStateMachine {
    let mut machine = VrrpStateMachine::new(settings);
    machine.start(at(0), false, &mut Vec::new());
    machine
}

fn active(settings: VrrpSettings) -> VrrpStateMachine {
    let mut machine = begun(settings);
    let due = machine.next_due();
    machine.tick(due, &mut Vec::new());
    assert_eq!(machine.state(), VrrpState::Active);
    machine
}

fn from(machine: &VrrpStateMachine, priority: u8) -> VrrpAdvertisement {
    machine.settings().advertisement(priority)
}

const ABOVE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 3));
const BELOW: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

#[test]
fn silence_of_three_intervals_and_the_skew_makes_active() {
    let mut machine = begun(VrrpSettings::backup_of_pair(128));
    // 3 × 100 ms and (256 − 128) / 256 of an interval.
    assert_eq!(machine.next_due(), at(350));
    let mut out = Vec::new();
    machine.tick(at(349), &mut out);
    assert!(out.is_empty());
    machine.tick(at(350), &mut out);
    let sent = VrrpAction::Send(machine.settings().advertisement(128));
    let changed = VrrpAction::Changed {
        from: VrrpState::Standby,
        to: VrrpState::Active,
        why: TransitionReason::Silence,
    };
    assert_eq!(out, [changed, sent, VrrpAction::AddAddresses, VrrpAction::Announce]);
}

#[test]
fn the_active_ones_interval_is_learned() {
    let mut machine = begun(VrrpSettings::backup_of_pair(128));
    let slow = VrrpAdvertisement { interval: MS * 400, ..from(&machine, 200) };
    machine.receive(at(10), ABOVE, &slow, &mut Vec::new());
    assert_eq!(machine.next_due(), at(10 + 1200 + 200));
    assert_eq!(machine.counts().other_interval, 1);
}

#[test]
fn an_owner_does_not_wait_and_a_resignation_shortens_the_wait() {
    let mut owner = VrrpStateMachine::new(VrrpSettings::backup_of_pair(255));
    let mut out = Vec::new();
    owner.start(at(0), false, &mut out);
    assert_eq!(owner.state(), VrrpState::Active);

    let mut machine = begun(VrrpSettings::backup_of_pair(192));
    machine.receive(at(50), ABOVE, &from(&machine, 0), &mut out);
    assert_eq!(machine.next_due(), at(75));
    out.clear();
    machine.tick(at(75), &mut out);
    assert!(
        matches!(out[0], VrrpAction::Changed { why: TransitionReason::Resigned, .. }),
        "{out:?}"
    );
}

#[test]
fn of_two_active_ones_the_better_stays() {
    let rows = [
        (ABOVE, 129, VrrpState::Standby),
        (BELOW, 129, VrrpState::Standby),
        (ABOVE, 128, VrrpState::Standby),
        (BELOW, 128, VrrpState::Active),
        (ABOVE, 127, VrrpState::Active),
        (ABOVE, 0, VrrpState::Active),
    ];
    for (source, priority, state) in rows {
        let mut machine = active(VrrpSettings::backup_of_pair(128));
        let mut out = Vec::new();
        machine.receive(at(410), source, &from(&machine, priority), &mut out);
        assert_eq!(machine.state(), state, "{source} {priority}");
        assert_eq!(out.contains(&VrrpAction::RemoveAddresses), state == VrrpState::Standby);
        // The remaining member advertises at once, and so does the one that resigned, so that the other learns of a
        // rival.
        assert!(out.iter().any(|one| matches!(one, VrrpAction::Send(_))));
    }
}

#[test]
fn the_end_of_a_split_is_announced_and_a_flood_of_rivals_is_not_answered_by_one() {
    let mut machine = active(VrrpSettings::backup_of_pair(128));
    let mut out = Vec::new();
    for ms in 400..430 {
        machine.receive(at(ms), BELOW, &from(&machine, 100), &mut out);
        machine.tick(at(ms), &mut out);
    }
    assert_eq!(out.iter().filter(|one| matches!(one, VrrpAction::Send(_))).count(), 1);
    assert!(out.contains(&VrrpAction::Announce));
    assert_eq!(machine.counts().active_conflicts, 30);
}

#[test]
fn a_lower_priority_is_borne_for_the_delay_or_for_ever() {
    let delayed = VrrpSettings { preempt_delay: MS * 1000, ..VrrpSettings::backup_of_pair(200) };
    let never = VrrpSettings { preempt: false, ..VrrpSettings::backup_of_pair(200) };
    for (settings, taken) in
        [(VrrpSettings::backup_of_pair(200), Some(300)), (delayed, Some(1300)), (never, None)]
    {
        let mut machine = begun(settings);
        let advert = from(&machine, 100);
        let mut out = Vec::new();
        let mut became = None;
        for ms in (0..3000).step_by(10) {
            if ms % 100 == 0 && became.is_none() {
                machine.receive(at(ms), BELOW, &advert, &mut out);
            }
            if machine.next_due() <= at(ms) {
                machine.tick(at(ms), &mut out);
            }
            if machine.state() == VrrpState::Active {
                became = became.or(Some(ms));
            }
        }
        match (became, taken) {
            (None, None) => {}
            (Some(ms), Some(least)) => {
                assert!((least - 100..least + 130).contains(&ms), "{ms} {least}")
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_member_that_slept_past_its_hold_stands_by() {
    let mut machine = active(VrrpSettings::backup_of_pair(128));
    assert_eq!(machine.lease_until(), at(350 + 250));
    let mut out = Vec::new();
    machine.tick(at(599), &mut out);
    assert_eq!(machine.state(), VrrpState::Active);
    let hold = machine.lease_until();
    out.clear();
    machine.tick(hold, &mut out);
    assert_eq!(out[0], VrrpAction::RemoveAddresses);
    assert!(matches!(out[1], VrrpAction::Changed { why: TransitionReason::Stalled, .. }));
    assert!(!out.iter().any(|one| matches!(one, VrrpAction::Send(_))), "{out:?}");
}

#[test]
fn an_order_goes_above_what_was_heard_and_back_again() {
    let mut machine = begun(VrrpSettings::backup_of_pair(100));
    let mut out = Vec::new();
    machine.receive(at(10), ABOVE, &from(&machine, 150), &mut out);
    machine.order_active(at(20), &mut out).unwrap();
    assert_eq!((machine.state(), machine.priority()), (VrrpState::Active, 151));
    assert_eq!(machine.order_active(at(21), &mut out), Err(OrderRejection::Active));
    machine.receive(at(30), ABOVE, &from(&machine, 152), &mut out);
    assert_eq!((machine.state(), machine.priority()), (VrrpState::Standby, 100));
    machine.receive(at(40), ABOVE, &from(&machine, 254), &mut out);
    assert_eq!(machine.order_active(at(50), &mut out), Err(OrderRejection::Highest(254)));
}

#[test]
fn a_stop_is_advertised_before_the_address_is_released() {
    let mut machine = active(VrrpSettings::backup_of_pair(128));
    let mut out = Vec::new();
    machine.stop(at(420), TransitionReason::Stopped, &mut out);
    assert_eq!(out[0], VrrpAction::Send(machine.settings().advertisement(0)));
    assert_eq!(out[1], VrrpAction::RemoveAddresses);
    assert_eq!(machine.next_due(), MonotonicTime::NEVER);
    assert_eq!(machine.order_active(at(430), &mut out), Err(OrderRejection::Idle));
}

#[test]
fn version_two_follows_no_other_interval_and_no_version_another() {
    let two = VrrpSettings {
        version: VrrpVersion::V2,
        interval: MS * 1000,
        ..VrrpSettings::backup_of_pair(128)
    };
    let mut machine = begun(two);
    assert_eq!(machine.next_due(), at(3500));
    let other = VrrpAdvertisement { interval: MS * 2000, ..from(&machine, 200) };
    machine.receive(at(10), ABOVE, &other, &mut Vec::new());
    let three = VrrpAdvertisement { version: VrrpVersion::V3, ..from(&machine, 200) };
    machine.receive(at(10), ABOVE, &three, &mut Vec::new());
    assert_eq!(machine.next_due(), at(3500));
    assert_eq!((machine.counts().other_interval, machine.counts().other_version), (1, 1));
}
