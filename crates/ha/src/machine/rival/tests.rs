//! Rows of what follows when somebody else is active under the same number.

use std::time::Duration;

use super::*;
use crate::settings::Settings;

const MS: Duration = Duration::from_millis(1);
const ABOVE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 3));
const BELOW: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

fn at(ms: u32) -> Moment {
    Moment(1_000_000_000) + MS * ms
}

fn active(settings: Settings) -> Machine {
    let mut machine = Machine::new(settings);
    machine.begin(at(0), true, &mut Vec::new());
    assert_eq!(machine.state(), State::Active);
    machine
}

fn heard(machine: &mut Machine, ms: u32, source: IpAddr, priority: u8) -> Vec<Action> {
    let (mut out, advert) = (Vec::new(), machine.settings().advert(priority));
    machine.receive(at(ms), source, &advert, &mut out);
    out
}

fn sent(out: &[Action]) -> Vec<u8> {
    let priority = |one: &Action| match one {
        Action::Send(advert) => Some(advert.priority),
        _ => None,
    };
    out.iter().filter_map(priority).collect()
}

#[test]
fn who_gives_up_says_so_after_it_gave_and_once() {
    let mut machine = active(Settings::second(128));
    let out = heard(&mut machine, 10, ABOVE, 200);
    assert_eq!(out[0], Action::Give);
    assert_eq!(out[2], Action::Send(machine.settings().advert(128)));
    assert!(sent(&heard(&mut machine, 110, ABOVE, 200)).is_empty());
    assert_eq!(machine.counts().notices, 1);
}

#[test]
fn who_stays_announces_again_when_a_rival_gives_up() {
    for (source, priority) in [(BELOW, 100), (BELOW, RESIGNED), (ABOVE, RESIGNED)] {
        let mut machine = active(Settings::second(128));
        let (mut out, begun) = (Vec::new(), at(60_000));
        // All announcements of its taking are over.
        while machine.due() < begun {
            machine.tick(machine.due(), &mut Vec::new());
        }
        let advert = machine.settings().advert(priority);
        machine.receive(begun, source, &advert, &mut out);
        assert_eq!(sent(&out), [128], "{priority}");
        machine.tick(begun, &mut out);
        assert!(out.contains(&Action::Announce), "{priority}");
    }
}

#[test]
fn who_overslept_says_so_to_the_first_active_one_that_it_hears() {
    let never = Settings { preempt: false, ..Settings::second(128) };
    // A lower one would give up if it heard our priority.
    for (settings, priority, notice) in
        [(Settings::second(128), 200, vec![128]), (never, 100, vec![RESIGNED])]
    {
        let mut machine = active(settings);
        let mut out = Vec::new();
        machine.tick(at(900), &mut out);
        assert_eq!((machine.state(), sent(&out).len()), (State::Standby, 0));
        assert_eq!(sent(&heard(&mut machine, 950, ABOVE, priority)), notice);
        assert!(sent(&heard(&mut machine, 1_050, ABOVE, priority)).is_empty());
    }
    // One that is taken over from will hear of us soon enough.
    let mut machine = active(Settings::second(128));
    machine.tick(at(900), &mut Vec::new());
    assert!(sent(&heard(&mut machine, 950, ABOVE, 100)).is_empty());
}

#[test]
fn who_found_addresses_of_a_process_before_says_so_and_who_did_not_does_not() {
    for found in [true, false] {
        let mut machine = Machine::new(Settings::second(128));
        if found {
            machine.found_addresses();
        }
        machine.begin(at(0), false, &mut Vec::new());
        assert_eq!(sent(&heard(&mut machine, 10, ABOVE, 200)).len(), usize::from(found));
    }
}

#[test]
fn nothing_is_said_with_the_virtual_link_address() {
    let mut machine = active(Settings { virtual_link: true, ..Settings::second(128) });
    let out = heard(&mut machine, 10, ABOVE, 200);
    assert_eq!((machine.state(), sent(&out).len()), (State::Standby, 0));
}

#[test]
fn a_resignation_of_another_than_the_active_one_shortens_nothing() {
    let mut machine = Machine::new(Settings::second(128));
    machine.begin(at(0), false, &mut Vec::new());
    heard(&mut machine, 10, ABOVE, 200);
    let due = machine.due();
    heard(&mut machine, 20, BELOW, RESIGNED);
    assert_eq!(machine.due(), due);
    heard(&mut machine, 30, ABOVE, RESIGNED);
    assert!(machine.due() < at(100), "the active one's does");
}

#[test]
fn another_group_with_the_same_number_is_reported_once_and_not_followed() {
    let other: Vec<IpAddr> = vec![[192, 0, 2, 99].into()];
    for begun in [true, false] {
        let mut machine = Machine::new(Settings::second(128));
        machine.begin(at(0), begun, &mut Vec::new());
        let (state, due) = (machine.state(), machine.due());
        let mut out = Vec::new();
        for (ms, priority) in [(10, 200), (20, 255), (30, RESIGNED), (40, 1)] {
            let advert = Advert { addresses: other.clone(), ..machine.settings().advert(priority) };
            machine.receive(at(ms), ABOVE, &advert, &mut out);
        }
        assert_eq!((machine.state(), machine.due()), (state, due));
        let addresses = other.clone();
        assert_eq!(out, [Action::OtherAddresses { source: ABOVE, addresses, foreign: true }]);
        let counts = machine.counts();
        assert_eq!((counts.other_addresses, counts.foreign, counts.resigned), (4, 4, 0));
    }
}

#[test]
fn a_member_with_some_of_the_addresses_is_followed_and_reported() {
    let both: Vec<IpAddr> = vec![[192, 0, 2, 10].into(), [192, 0, 2, 11].into()];
    let settings = Settings { addresses: both.clone(), ..Settings::second(128) };
    let less = vec![both[0]];
    let more = [both.clone(), vec![[192, 0, 2, 12].into()]].concat();
    for addresses in [less, more] {
        let mut machine = active(settings.clone());
        let advert = Advert { addresses: addresses.clone(), ..settings.advert(200) };
        let mut out = Vec::new();
        machine.receive(at(10), ABOVE, &advert, &mut out);
        assert_eq!(machine.state(), State::Standby);
        assert_eq!(out[0], Action::OtherAddresses { source: ABOVE, addresses, foreign: false });
    }
    let mut machine = active(settings.clone());
    let swapped = vec![both[1], both[0]];
    let advert = Advert { addresses: swapped, ..settings.advert(100) };
    let mut out = Vec::new();
    machine.receive(at(10), BELOW, &advert, &mut out);
    assert!(!out.iter().any(|one| matches!(one, Action::OtherAddresses { .. })), "{out:?}");
}

#[test]
fn sources_by_turns_are_reported_once_a_minute() {
    let mut machine = active(Settings::second(128));
    let mut out = Vec::new();
    for ms in (0..120_000).step_by(100) {
        let source = if ms % 200 == 0 { ABOVE } else { BELOW };
        let addresses = vec![[192, 0, 2, 99].into()];
        let advert = Advert { addresses, ..machine.settings().advert(200) };
        machine.receive(at(ms), source, &advert, &mut out);
        machine.tick(at(ms), &mut Vec::new());
    }
    assert_eq!(out.len(), 2, "{out:?}");
}
