//! Rows: what follows when another member is active under the same number.

use std::time::Duration;

use super::*;
use crate::settings::VrrpSettings;

const MS: Duration = Duration::from_millis(1);
const ABOVE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 3));
const BELOW: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

fn at(ms: u32) -> MonotonicTime {
    MonotonicTime(1_000_000_000) + MS * ms
}

fn active(settings: VrrpSettings) -> VrrpStateMachine {
    let mut machine = VrrpStateMachine::new(settings);
    machine.start(at(0), true, &mut Vec::new());
    assert_eq!(machine.state(), VrrpState::Active);
    machine
}

fn heard(machine: &mut VrrpStateMachine, ms: u32, source: IpAddr, priority: u8) -> Vec<VrrpAction> {
    let mut out = Vec::new();
    let advert = machine.settings().advertisement(priority);
    machine.receive(at(ms), source, &advert, &mut out);
    out
}

fn sent(out: &[VrrpAction]) -> Vec<u8> {
    let priority = |one: &VrrpAction| match one {
        VrrpAction::Send(advert) => Some(advert.priority),
        _ => None,
    };
    out.iter().filter_map(priority).collect()
}

#[test]
fn a_resigned_rival_gives_notice_once_after_releasing() {
    let mut machine = active(VrrpSettings::backup_of_pair(128));
    let out = heard(&mut machine, 10, ABOVE, 200);
    assert_eq!(out[0], VrrpAction::RemoveAddresses);
    assert_eq!(out[2], VrrpAction::Send(machine.settings().advertisement(128)));
    assert!(sent(&heard(&mut machine, 110, ABOVE, 200)).is_empty());
    assert_eq!(machine.counts().notices, 1);
}

#[test]
fn who_stays_announces_again_when_a_rival_gives_up() {
    for (source, priority) in [(BELOW, 100), (BELOW, RESIGNED), (ABOVE, RESIGNED)] {
        let mut machine = active(VrrpSettings::backup_of_pair(128));
        let mut out = Vec::new();
        let begun = at(60_000);
        // All announcements of the takeover are over.
        while machine.next_due() < begun {
            machine.tick(machine.next_due(), &mut Vec::new());
        }
        let advert = machine.settings().advertisement(priority);
        machine.receive(begun, source, &advert, &mut out);
        assert_eq!(sent(&out), [128], "{priority}");
        machine.tick(begun, &mut out);
        assert!(out.contains(&VrrpAction::Announce), "{priority}");
    }
}

#[test]
fn a_stalled_member_gives_notice_to_the_first_active_member() {
    let never = VrrpSettings { preempt: false, ..VrrpSettings::backup_of_pair(128) };
    // A member of lower priority would resign if it received this member's priority.
    for (settings, priority, notice) in
        [(VrrpSettings::backup_of_pair(128), 200, vec![128]), (never, 100, vec![RESIGNED])]
    {
        let mut machine = active(settings);
        let mut out = Vec::new();
        machine.tick(at(900), &mut out);
        assert_eq!((machine.state(), sent(&out).len()), (VrrpState::Standby, 0));
        assert_eq!(sent(&heard(&mut machine, 950, ABOVE, priority)), notice);
        assert!(sent(&heard(&mut machine, 1_050, ABOVE, priority)).is_empty());
    }
    // A member that will be preempted receives this member's advertisement soon enough.
    let mut machine = active(VrrpSettings::backup_of_pair(128));
    machine.tick(at(900), &mut Vec::new());
    assert!(sent(&heard(&mut machine, 950, ABOVE, 100)).is_empty());
}

#[test]
fn only_a_member_that_found_addresses_gives_notice() {
    for found in [true, false] {
        let mut machine = VrrpStateMachine::new(VrrpSettings::backup_of_pair(128));
        if found {
            machine.release_found_addresses();
        }
        machine.start(at(0), false, &mut Vec::new());
        assert_eq!(sent(&heard(&mut machine, 10, ABOVE, 200)).len(), usize::from(found));
    }
}

#[test]
fn no_notice_uses_the_virtual_mac_address() {
    let mut machine =
        active(VrrpSettings { virtual_link: true, ..VrrpSettings::backup_of_pair(128) });
    let out = heard(&mut machine, 10, ABOVE, 200);
    assert_eq!((machine.state(), sent(&out).len()), (VrrpState::Standby, 0));
}

#[test]
fn a_resignation_of_another_than_the_active_one_shortens_nothing() {
    let mut machine = VrrpStateMachine::new(VrrpSettings::backup_of_pair(128));
    machine.start(at(0), false, &mut Vec::new());
    heard(&mut machine, 10, ABOVE, 200);
    let due = machine.next_due();
    heard(&mut machine, 20, BELOW, RESIGNED);
    assert_eq!(machine.next_due(), due);
    heard(&mut machine, 30, ABOVE, RESIGNED);
    assert!(machine.next_due() < at(100), "the active one's does");
}

#[test]
fn another_group_with_the_same_number_is_reported_once_and_not_followed() {
    let other: Vec<IpAddr> = vec![[192, 0, 2, 99].into()];
    for begun in [true, false] {
        let mut machine = VrrpStateMachine::new(VrrpSettings::backup_of_pair(128));
        machine.start(at(0), begun, &mut Vec::new());
        let state = machine.state();
        let due = machine.next_due();
        let mut out = Vec::new();
        for (ms, priority) in [(10, 200), (20, 255), (30, RESIGNED), (40, 1)] {
            let advert = VrrpAdvertisement {
                addresses: other.clone(),
                ..machine.settings().advertisement(priority)
            };
            machine.receive(at(ms), ABOVE, &advert, &mut out);
        }
        assert_eq!((machine.state(), machine.next_due()), (state, due));
        let addresses = other.clone();
        assert_eq!(out, [VrrpAction::OtherAddresses { source: ABOVE, addresses, foreign: true }]);
        let counts = machine.counts();
        assert_eq!((counts.other_addresses, counts.foreign, counts.resigned), (4, 4, 0));
    }
}

#[test]
fn a_member_with_some_of_the_addresses_is_followed_and_reported() {
    let both: Vec<IpAddr> = vec![[192, 0, 2, 10].into(), [192, 0, 2, 11].into()];
    let settings = VrrpSettings { addresses: both.clone(), ..VrrpSettings::backup_of_pair(128) };
    let less = vec![both[0]];
    let more = [both.clone(), vec![[192, 0, 2, 12].into()]].concat();
    for addresses in [less, more] {
        let mut machine = active(settings.clone());
        let advert =
            VrrpAdvertisement { addresses: addresses.clone(), ..settings.advertisement(200) };
        let mut out = Vec::new();
        machine.receive(at(10), ABOVE, &advert, &mut out);
        assert_eq!(machine.state(), VrrpState::Standby);
        assert_eq!(out[0], VrrpAction::OtherAddresses { source: ABOVE, addresses, foreign: false });
    }
    let mut machine = active(settings.clone());
    let swapped = vec![both[1], both[0]];
    let advert = VrrpAdvertisement { addresses: swapped, ..settings.advertisement(100) };
    let mut out = Vec::new();
    machine.receive(at(10), BELOW, &advert, &mut out);
    assert!(!out.iter().any(|one| matches!(one, VrrpAction::OtherAddresses { .. })), "{out:?}");
}

#[test]
fn sources_by_turns_are_reported_once_a_minute() {
    let mut machine = active(VrrpSettings::backup_of_pair(128));
    let mut out = Vec::new();
    for ms in (0..120_000).step_by(100) {
        let source = if ms % 200 == 0 { ABOVE } else { BELOW };
        let addresses = vec![[192, 0, 2, 99].into()];
        let advert = VrrpAdvertisement { addresses, ..machine.settings().advertisement(200) };
        machine.receive(at(ms), source, &advert, &mut out);
        machine.tick(at(ms), &mut Vec::new());
    }
    assert_eq!(out.len(), 2, "{out:?}");
}
