//! Rows of what the heartbeat says, and what follows.

use std::net::IpAddr;
use std::time::Duration;

use super::*;
use crate::advert::Advert;
use crate::machine::Refused;
use crate::settings::Settings;

const MS: Duration = Duration::from_millis(1);
const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 9));

fn at(ms: u32) -> Moment {
    Moment(1_000_000_000) + MS * ms
}

fn standby(priority: u8) -> Machine {
    let mut machine = Machine::new(Settings::second(priority));
    machine.begin(at(0), false, &mut Vec::new());
    machine
}

fn active(priority: u8) -> Machine {
    let mut machine = standby(priority);
    run(&mut machine, 0, 500);
    assert_eq!(machine.state(), State::Active);
    machine
}

/// Ticks when it is due; what was done.
fn run(machine: &mut Machine, from: u32, to: u32) -> Vec<Action> {
    let mut out = Vec::new();
    for ms in from..to {
        if machine.due() <= at(ms) {
            machine.tick(at(ms), &mut out);
        }
    }
    out
}

fn holds(priority: u8) -> Peer {
    Peer { alive: true, active: Some((OTHER, priority)), ..Peer::default() }
}

const ALIVE: Peer =
    Peer { alive: true, unsure: false, active: None, knows: false, wants: None, ahead: false };

fn advert(priority: u8) -> Advert {
    standby(100).settings().advert(priority)
}

#[test]
fn who_is_active_by_the_heartbeat_stays_so_however_silent_and_low() {
    for priority in [1, 100, 254] {
        let mut machine = standby(150);
        let mut out = Vec::new();
        machine.advise(at(0), holds(priority), &mut out);
        out.extend(run(&mut machine, 0, 5_000));
        assert_eq!(out, [Action::Withheld(Some(Withheld::Active(OTHER, priority)))]);
        assert_eq!((machine.state(), machine.counts().withheld), (State::Standby, 1));
        // All paths are silent: it takes over at once.
        out.clear();
        machine.advise(at(5_000), Peer::default(), &mut out);
        out.extend(run(&mut machine, 5_000, 5_002));
        assert_eq!(out[0], Action::Withheld(None));
        assert!(matches!(out[1], Action::Changed { why: Why::Silence, .. }), "{out:?}");
    }
}

#[test]
fn a_peer_that_says_it_gave_up_is_followed_after_the_skew() {
    let mut machine = standby(128);
    let mut out = Vec::new();
    machine.receive(at(40), OTHER, &advert(200), &mut out);
    machine.advise(at(40), holds(200), &mut out);
    machine.advise(at(50), ALIVE, &mut out);
    assert_eq!(machine.due(), at(100), "half an interval, and not three and a half");
    out = run(&mut machine, 50, 101);
    assert!(matches!(out[0], Action::Changed { why: Why::Resigned, .. }), "{out:?}");
    // But not where a third one was heard to be active.
    let mut machine = standby(128);
    machine.receive(at(40), [192, 0, 2, 77].into(), &advert(200), &mut out);
    machine.advise(at(40), holds(100), &mut out);
    machine.advise(at(50), ALIVE, &mut out);
    assert_eq!(machine.due(), at(390));
}

#[test]
fn a_resignation_by_vrrp_does_not_wait_for_the_next_beat() {
    let mut machine = standby(128);
    machine.advise(at(0), holds(200), &mut Vec::new());
    machine.receive(at(40), OTHER, &advert(0), &mut Vec::new());
    let out = run(&mut machine, 40, 100);
    assert!(matches!(out[0], Action::Changed { why: Why::Resigned, .. }), "{out:?}");
    // Its last beat, sent before, does not unseat us.
    let mut out = Vec::new();
    machine.advise(at(100), holds(200), &mut out);
    assert_eq!((machine.state(), out.len()), (State::Active, 0));
}

#[test]
fn a_lower_priority_that_is_heard_is_taken_over_from_as_ever() {
    let mut machine = standby(150);
    let mut out = Vec::new();
    machine.advise(at(0), holds(100), &mut out);
    for ms in (0..400).step_by(100) {
        machine.receive(at(ms), OTHER, &advert(100), &mut out);
        out.extend(run(&mut machine, ms, ms + 100));
    }
    assert_eq!(machine.state(), State::Active);
    // The same one, not heard any more before its time was over, is none.
    let mut machine = standby(150);
    machine.advise(at(0), holds(100), &mut out);
    machine.receive(at(0), OTHER, &advert(100), &mut out);
    run(&mut machine, 0, 4_000);
    assert_eq!(machine.state(), State::Standby);
}

#[test]
fn of_two_that_know_of_each_other_the_lower_gives_up() {
    let rows = [
        (holds(200), State::Active),
        (Peer { knows: true, ..holds(200) }, State::Standby),
        (Peer { knows: true, ..holds(150) }, State::Standby),
        (Peer { knows: true, ..holds(149) }, State::Active),
    ];
    for (peer, state) in rows {
        let mut machine = active(150);
        let mut out = Vec::new();
        machine.advise(at(501), peer, &mut out);
        assert_eq!(machine.state(), state, "{peer:?}");
        assert_eq!(out.contains(&Action::Give), state == State::Standby);
    }
}

#[test]
fn who_reaches_less_gives_up_and_does_not_take_it_back() {
    let mut machine = active(150);
    let mut out = Vec::new();
    machine.advise(at(500), Peer { ahead: true, ..ALIVE }, &mut out);
    assert_eq!(out[0], Action::Send(machine.settings().advert(0)));
    assert!(out.contains(&Action::Give));
    // It has the better priority, and hears the lower one.
    for ms in (500..2_000).step_by(100) {
        machine.receive(at(ms), OTHER, &advert(100), &mut out);
        machine.advise(at(ms), Peer { ahead: true, ..holds(100) }, &mut out);
        run(&mut machine, ms, ms + 100);
    }
    assert_eq!(machine.state(), State::Standby);
    // Once nobody reaches more, its priority counts again.
    for ms in (2_000..3_000).step_by(100) {
        machine.receive(at(ms), OTHER, &advert(100), &mut out);
        machine.advise(at(ms), holds(100), &mut out);
        run(&mut machine, ms, ms + 100);
    }
    assert_eq!(machine.state(), State::Active);
}

#[test]
fn an_order_stands_above_reach_and_an_owner_too() {
    let mut ahead = Peer { ahead: true, ..holds(150) };
    let mut machine = standby(100);
    let mut out = Vec::new();
    machine.advise(at(0), ahead, &mut out);
    machine.order(at(10), &mut out).unwrap();
    assert_eq!(machine.priority(), 151, "above the one that the heartbeat tells of");
    ahead.active = None;
    machine.advise(at(20), ahead, &mut out);
    assert_eq!(machine.state(), State::Active);
    assert_eq!(machine.order(at(30), &mut out), Err(Refused::Active));
    let mut owner = standby(255);
    assert_eq!(owner.state(), State::Active);
    owner.advise(at(20), Peer { knows: true, ..ahead }, &mut out);
    assert_eq!(owner.state(), State::Active);
}

#[test]
fn what_began_just_now_waits_until_it_knows() {
    let mut machine = standby(254);
    machine.advise(at(0), Peer { unsure: true, ..Peer::default() }, &mut Vec::new());
    assert!(run(&mut machine, 0, 2_000).is_empty());
    machine.advise(at(2_000), Peer::default(), &mut Vec::new());
    run(&mut machine, 2_000, 2_101);
    assert_eq!(machine.state(), State::Active);
}
