//! Rows: what the heartbeat reports, and what follows.

use std::net::IpAddr;
use std::time::Duration;

use super::*;
use crate::advert::VrrpAdvertisement;
use crate::settings::VrrpSettings;
use crate::state_machine::OrderRejection;

const MS: Duration = Duration::from_millis(1);
const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 9));

fn at(ms: u32) -> MonotonicTime {
    MonotonicTime(1_000_000_000) + MS * ms
}

fn standby(priority: u8) -> VrrpStateMachine {
    let mut machine = VrrpStateMachine::new(VrrpSettings::backup_of_pair(priority));
    machine.start(at(0), false, &mut Vec::new());
    machine
}

fn active(priority: u8) -> VrrpStateMachine {
    let mut machine = standby(priority);
    run(&mut machine, 0, 500);
    assert_eq!(machine.state(), VrrpState::Active);
    machine
}

/// Ticks the machine when it is due and returns the actions.
fn run(machine: &mut VrrpStateMachine, from: u32, to: u32) -> Vec<VrrpAction> {
    let mut out = Vec::new();
    for ms in from..to {
        if machine.next_due() <= at(ms) {
            machine.tick(at(ms), &mut out);
        }
    }
    out
}

fn holds(priority: u8) -> PeerView {
    PeerView {
        alive: true,
        active: Some(MemberPrecedence { priority, source: OTHER }),
        ..PeerView::default()
    }
}

const ALIVE: PeerView = PeerView {
    alive: true,
    undecided: false,
    active: None,
    knows_conflict: false,
    wants_vote: None,
    ahead: false,
};

fn advert(priority: u8) -> VrrpAdvertisement {
    standby(100).settings().advertisement(priority)
}

#[test]
fn who_is_active_by_the_heartbeat_stays_so_however_silent_and_low() {
    for priority in [1, 100, 254] {
        let mut machine = standby(150);
        let mut out = Vec::new();
        machine.update_peer(at(0), holds(priority), &mut out);
        out.extend(run(&mut machine, 0, 5_000));
        assert_eq!(
            out,
            [VrrpAction::ActivationBlocked(Some(ActivationBlocker::PeerActive(OTHER, priority)))]
        );
        assert_eq!((machine.state(), machine.counts().blocked_takeovers), (VrrpState::Standby, 1));
        // All paths are down: it takes over at once.
        out.clear();
        machine.update_peer(at(5_000), PeerView::default(), &mut out);
        out.extend(run(&mut machine, 5_000, 5_002));
        assert_eq!(out[0], VrrpAction::ActivationBlocked(None));
        assert!(
            matches!(out[1], VrrpAction::Changed { why: TransitionReason::Silence, .. }),
            "{out:?}"
        );
    }
}

#[test]
fn a_peer_that_reports_its_resignation_is_succeeded_after_the_skew() {
    let mut machine = standby(128);
    let mut out = Vec::new();
    machine.receive(at(40), OTHER, &advert(200), &mut out);
    machine.update_peer(at(40), holds(200), &mut out);
    machine.update_peer(at(50), ALIVE, &mut out);
    assert_eq!(machine.next_due(), at(100), "half an interval, and not three and a half");
    out = run(&mut machine, 50, 101);
    assert!(
        matches!(out[0], VrrpAction::Changed { why: TransitionReason::Resigned, .. }),
        "{out:?}"
    );
    // The wait is not shortened while a third member advertises itself as active.
    let mut machine = standby(128);
    machine.receive(at(40), [192, 0, 2, 77].into(), &advert(200), &mut out);
    machine.update_peer(at(40), holds(100), &mut out);
    machine.update_peer(at(50), ALIVE, &mut out);
    assert_eq!(machine.next_due(), at(390));
}

#[test]
fn a_resignation_by_vrrp_does_not_wait_for_the_next_beat() {
    let mut machine = standby(128);
    machine.update_peer(at(0), holds(200), &mut Vec::new());
    machine.receive(at(40), OTHER, &advert(0), &mut Vec::new());
    let out = run(&mut machine, 40, 100);
    assert!(
        matches!(out[0], VrrpAction::Changed { why: TransitionReason::Resigned, .. }),
        "{out:?}"
    );
    // The peer's last heartbeat, sent before the takeover, does not remove us.
    let mut out = Vec::new();
    machine.update_peer(at(100), holds(200), &mut out);
    assert_eq!((machine.state(), out.len()), (VrrpState::Active, 0));
}

#[test]
fn a_lower_priority_that_is_heard_is_taken_over_from_as_ever() {
    let mut machine = standby(150);
    let mut out = Vec::new();
    machine.update_peer(at(0), holds(100), &mut out);
    for ms in (0..400).step_by(100) {
        machine.receive(at(ms), OTHER, &advert(100), &mut out);
        out.extend(run(&mut machine, ms, ms + 100));
    }
    assert_eq!(machine.state(), VrrpState::Active);
    // A peer whose heartbeats stopped before the wait was over does not block.
    let mut machine = standby(150);
    machine.update_peer(at(0), holds(100), &mut out);
    machine.receive(at(0), OTHER, &advert(100), &mut out);
    run(&mut machine, 0, 4_000);
    assert_eq!(machine.state(), VrrpState::Standby);
}

#[test]
fn of_two_that_know_of_each_other_the_lower_gives_up() {
    let rows = [
        (holds(200), VrrpState::Active),
        (PeerView { knows_conflict: true, ..holds(200) }, VrrpState::Standby),
        (PeerView { knows_conflict: true, ..holds(150) }, VrrpState::Standby),
        (PeerView { knows_conflict: true, ..holds(149) }, VrrpState::Active),
    ];
    for (peer, state) in rows {
        let mut machine = active(150);
        let mut out = Vec::new();
        machine.update_peer(at(501), peer, &mut out);
        assert_eq!(machine.state(), state, "{peer:?}");
        assert_eq!(out.contains(&VrrpAction::RemoveAddresses), state == VrrpState::Standby);
    }
}

#[test]
fn who_reaches_less_gives_up_and_does_not_take_it_back() {
    let mut machine = active(150);
    let mut out = Vec::new();
    machine.update_peer(at(500), PeerView { ahead: true, ..ALIVE }, &mut out);
    assert_eq!(out[0], VrrpAction::Send(machine.settings().advertisement(0)));
    assert!(out.contains(&VrrpAction::RemoveAddresses));
    // It has the better priority and receives the lower one.
    for ms in (500..2_000).step_by(100) {
        machine.receive(at(ms), OTHER, &advert(100), &mut out);
        machine.update_peer(at(ms), PeerView { ahead: true, ..holds(100) }, &mut out);
        run(&mut machine, ms, ms + 100);
    }
    assert_eq!(machine.state(), VrrpState::Standby);
    // Once the reach is equal, the priority decides.
    for ms in (2_000..3_000).step_by(100) {
        machine.receive(at(ms), OTHER, &advert(100), &mut out);
        machine.update_peer(at(ms), holds(100), &mut out);
        run(&mut machine, ms, ms + 100);
    }
    assert_eq!(machine.state(), VrrpState::Active);
}

#[test]
fn an_order_stands_above_reach_and_an_owner_too() {
    let mut ahead = PeerView { ahead: true, ..holds(150) };
    let mut machine = standby(100);
    let mut out = Vec::new();
    machine.update_peer(at(0), ahead, &mut out);
    machine.order_active(at(10), &mut out).unwrap();
    assert_eq!(machine.priority(), 151, "above the one that the heartbeat tells of");
    ahead.active = None;
    machine.update_peer(at(20), ahead, &mut out);
    assert_eq!(machine.state(), VrrpState::Active);
    assert_eq!(machine.order_active(at(30), &mut out), Err(OrderRejection::Active));
    let mut owner = standby(255);
    assert_eq!(owner.state(), VrrpState::Active);
    owner.update_peer(at(20), PeerView { knows_conflict: true, ..ahead }, &mut out);
    assert_eq!(owner.state(), VrrpState::Active);
}

#[test]
fn a_fresh_member_waits_until_the_peer_is_decided() {
    let mut machine = standby(254);
    machine.update_peer(
        at(0),
        PeerView { undecided: true, ..PeerView::default() },
        &mut Vec::new(),
    );
    assert!(run(&mut machine, 0, 2_000).is_empty());
    machine.update_peer(at(2_000), PeerView::default(), &mut Vec::new());
    run(&mut machine, 2_000, 2_101);
    assert_eq!(machine.state(), VrrpState::Active);
}
