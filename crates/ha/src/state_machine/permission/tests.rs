//! Rows of a member that needs a quorum.

use std::net::IpAddr;
use std::time::Duration;

use super::super::PeerView;
use super::*;
use crate::settings::VrrpSettings;

const MS: Duration = Duration::from_millis(1);
const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const THEIRS: Option<MemberPrecedence> = Some(MemberPrecedence { priority: 150, source: OTHER });

fn at(ms: u32) -> MonotonicTime {
    MonotonicTime(1_000_000_000) + MS * ms
}

/// A member on standby since 0 without a quorum.
fn standby(priority: u8) -> VrrpStateMachine {
    let mut machine = VrrpStateMachine::new(VrrpSettings::backup_of_pair(priority));
    machine.set_permission(at(0), Some(MonotonicTime::default()), &mut Vec::new());
    machine.start(at(0), false, &mut Vec::new());
    machine
}

fn changed(out: &[VrrpAction]) -> Option<(VrrpState, TransitionReason)> {
    out.iter().find_map(|action| match action {
        VrrpAction::Changed { to, why, .. } => Some((*to, *why)),
        _ => None,
    })
}

/// A member active since 400 ms, with permission until then.
fn active(leave: MonotonicTime) -> VrrpStateMachine {
    let mut machine = standby(100);
    machine.tick(at(400), &mut Vec::new());
    machine.set_permission(at(400), Some(leave), &mut Vec::new());
    machine.tick(at(400), &mut Vec::new());
    assert_eq!(machine.state(), VrrpState::Active);
    machine
}

#[test]
fn silence_alone_is_not_enough_and_leave_is_used_at_once() {
    let mut machine = standby(100);
    let mut out = Vec::new();
    machine.tick(at(400), &mut out);
    assert_eq!((machine.state(), machine.wants_permission()), (VrrpState::Standby, true));
    assert_eq!(out, [VrrpAction::ActivationBlocked(Some(ActivationBlocker::NoQuorum))]);
    machine.tick(at(500), &mut out);
    assert_eq!((out.len(), machine.counts().blocked_takeovers), (1, 1), "told once");
    machine.set_permission(at(550), Some(at(2_000)), &mut out);
    assert_eq!((machine.wants_permission(), machine.next_due()), (false, at(550)));
    machine.tick(at(550), &mut out);
    assert_eq!(changed(&out), Some((VrrpState::Active, TransitionReason::Silence)));
}

#[test]
fn the_address_is_held_no_longer_than_others_agree() {
    let mut machine = active(at(500));
    assert_eq!((machine.lease_until(), machine.next_due()), (at(500), at(500)));
    machine.set_permission(at(450), Some(at(5_000)), &mut Vec::new());
    assert_eq!(machine.lease_until(), at(650), "the dead man's time is sooner");
    machine.set_permission(at(460), Some(at(470)), &mut Vec::new());
    let mut out = Vec::new();
    machine.tick(at(470), &mut out);
    assert_eq!(changed(&out), Some((VrrpState::Standby, TransitionReason::NoQuorum)));
    assert!(matches!(&out[0], VrrpAction::Send(advert) if advert.priority == RESIGNED));
    assert_eq!((machine.counts().lost_quorum, machine.counts().stalled), (1, 0));
}

#[test]
fn too_long_a_silence_is_a_stall_despite_the_quorum() {
    let mut machine = active(at(5_000));
    let mut out = Vec::new();
    machine.tick(at(700), &mut out);
    assert_eq!(changed(&out), Some((VrrpState::Standby, TransitionReason::Stalled)));
}

#[test]
fn an_order_waits_for_others_and_is_followed_then() {
    let mut machine = standby(100);
    let mut out = Vec::new();
    let advert = machine.settings().advertisement(150);
    machine.receive(at(10), OTHER, &advert, &mut out);
    machine.order_active(at(20), &mut out).unwrap();
    machine.tick(at(20), &mut out);
    assert_eq!(
        (machine.state(), machine.wants_permission(), machine.priority()),
        (VrrpState::Standby, true, 151)
    );
    // Advertisements of the active member still count.
    machine.receive(at(110), OTHER, &advert, &mut out);
    machine.tick(machine.next_due(), &mut out);
    assert!(machine.wants_permission() && machine.is_by_order());
    machine.set_permission(at(200), Some(at(2_000)), &mut out);
    machine.tick(at(200), &mut out);
    assert_eq!(changed(&out), Some((VrrpState::Active, TransitionReason::Ordered)));
    let mut machine = standby(100);
    machine.order_active(at(20), &mut Vec::new()).unwrap();
    assert!(machine.release_order() && !machine.wants_permission());
}

#[test]
fn a_lower_one_makes_way_for_who_needs_its_vote() {
    let rows = [
        (PeerView { wants_vote: THEIRS, alive: true, ..PeerView::default() }, VrrpState::Standby),
        (
            PeerView {
                wants_vote: THEIRS.map(|theirs| MemberPrecedence { priority: 99, ..theirs }),
                alive: true,
                ..PeerView::default()
            },
            VrrpState::Active,
        ),
        (PeerView { wants_vote: None, alive: true, ..PeerView::default() }, VrrpState::Active),
    ];
    for (peer, state) in rows {
        let mut machine = active(at(5_000));
        let mut out = Vec::new();
        machine.update_peer(at(410), peer, &mut out);
        assert_eq!(machine.state(), state, "{peer:?}");
        if state == VrrpState::Standby {
            assert_eq!(changed(&out), Some((state, TransitionReason::HigherPriority(OTHER, 150))));
            assert!(matches!(&out[0], VrrpAction::Send(advert) if advert.priority == RESIGNED));
        }
    }
}

#[test]
fn a_lower_priority_is_taken_over_from_with_leave_alone() {
    let mut machine = standby(200);
    let mut out = Vec::new();
    let advert = machine.settings().advertisement(150);
    for ms in [0, 100, 200, 300, 400, 500] {
        machine.receive(at(ms), OTHER, &advert, &mut out);
        if machine.next_due() <= at(ms) {
            machine.tick(at(ms), &mut out);
        }
    }
    assert!(machine.wants_permission(), "{out:?}");
    machine.set_permission(at(510), Some(at(2_000)), &mut out);
    machine.tick(at(510), &mut out);
    assert_eq!(machine.state(), VrrpState::Active);
}
