//! Targets of the heartbeat: packets received on a path, and a member that receives any packets at any time.
//!
//! Properties besides not panicking: an incorrectly signed packet is rejected, a parsed packet is encoded unchanged,
//! and a member accepts no peer that cannot know its session.

use std::time::Duration;

use ha::heartbeat::{
    ConfigDigest, GroupClaim, HeartbeatEcho, HeartbeatId, PeerHeartbeat, ReachScore, VERSION, Vote,
    emit, parse,
};
use ha::keys::ClusterKeys;
use ha::peer_link::{PeerLink, PeerLinkSettings};
use ha::state_machine::VrrpState;
use model::monotonic_time::MonotonicTime;

/// A session number that a fuzz input is too short to guess.
const SESSION: u64 = 0x5eed_5eed_5eed_5eed;

fn keys(letter: &str) -> ClusterKeys {
    ClusterKeys::parse(&format!("1 {}\n2 {}", letter.repeat(40), "s".repeat(32))).unwrap()
}

/// A packet, as received and with a valid signature.
pub fn packet(bytes: &[u8]) {
    let ours = keys("a");
    let others = keys("b");
    if let Ok(beat) = parse(bytes, &ours) {
        assert_eq!(parse(&emit(&beat, &ours), &ours), Ok(beat), "it changes when written again");
    }
    let mut signed = bytes.to_vec();
    if signed.len() > 6 {
        signed[6] = 1;
    }
    ours.sign(&mut signed);
    if let Ok(beat) = parse(&signed, &ours) {
        assert_eq!(parse(&emit(&beat, &ours), &ours), Ok(beat), "it changes when written again");
        assert!(parse(&signed, &others).is_err(), "another secret reads it");
    }
}

/// A member whose events the bytes describe: passing time, heartbeats with any numbers, and rounds.
pub fn run_member(bytes: &[u8]) {
    let settings = PeerLinkSettings {
        peer: "right".to_owned(),
        interval: Duration::from_millis(100),
        timeout: Duration::from_millis(300),
        paths: 2,
    };
    let mut now = MonotonicTime(1);
    let mut hearing = PeerLink::new(settings, SESSION, now);
    let mut sent = 0;
    for each in bytes.chunks_exact(6) {
        now = now + Duration::from_millis(u64::from(each[1]) * 4);
        // One heartbeat in four repeats the member's session; the others guess it.
        let knows = each[2].is_multiple_of(4);
        let echo = HeartbeatEcho {
            session: if knows { SESSION } else { u64::from(each[2]) },
            newest: u64::from(each[3]),
            number: u64::from(each[3] / 2),
            delay_us: u32::from(each[4]) << 8,
        };
        let mut changes = Vec::new();
        match each[0] % 4 {
            0 => {
                if let Some(round) = hearing.take_round(now, &claims(each[5])) {
                    assert_eq!(round.echoes.len(), 2);
                    assert!(round.number > sent, "numbers rise");
                    sent = round.number;
                }
            }
            1 => hearing.handle_timeouts(now, &mut changes),
            path => {
                let beat =
                    PeerHeartbeat { echo, session: u64::from(each[4] % 3) + 1, ..beat(each[5]) };
                let before = hearing.peer().cloned();
                let heard =
                    hearing.receive_heartbeat(now, usize::from(path) - 2, beat, &mut changes);
                assert!(knows || heard != Ok(true), "it believes a stranger");
                assert!(heard == Ok(true) || hearing.peer().cloned() == before || knows);
                assert!(echo.newest <= sent || heard != Ok(true), "it heard what was not said");
            }
        }
        assert!(hearing.next_due() != MonotonicTime::NEVER);
        assert!((0..2).all(|path| (0.0..=1.0).contains(&hearing.loss(path))));
        let _ = (hearing.peer_claim(1, false), hearing.is_one_way(0, now));
    }
}

fn claims(kind: u8) -> Vec<GroupClaim> {
    let state = [VrrpState::Idle, VrrpState::Standby, VrrpState::Active][usize::from(kind % 3)];
    let source = [192, 0, 2, kind].into();
    let lends = kind.is_multiple_of(5).then(|| Duration::from_millis(u64::from(kind) + 1));
    let vote = kind.is_multiple_of(3).then_some(Vote {
        is_active: kind > 9,
        wants_vote: kind < 9,
        grants_for: lends,
    });
    let is_capable = kind.is_multiple_of(2);
    vec![GroupClaim { id: 1, v6: false, is_capable, state, priority: kind, source, vote }]
}

fn beat(kind: u8) -> PeerHeartbeat {
    PeerHeartbeat {
        version: VERSION,
        session: 1,
        number: u64::from(kind) + 1,
        echo: HeartbeatEcho::default(),
        name: "right".to_owned(),
        product: "0.1.0".to_owned(),
        config: ConfigDigest { generation: 3, parts: [1, 2, 3, 4] },
        reach: Some(ReachScore { reached: 1, total: 2 }),
        last_received: Some(HeartbeatId { session: 4, number: 2 }),
        claims: claims(kind),
    }
}

/// Heartbeats with and without their signatures, and an invalid one.
pub fn seeds() -> Vec<Vec<u8>> {
    let whole = emit(&beat(7), &keys("a"));
    let six = GroupClaim {
        id: 9,
        v6: true,
        is_capable: true,
        state: VrrpState::Standby,
        priority: 1,
        source: [9; 16].into(),
        vote: Some(Vote { grants_for: Some(Duration::from_secs(3)), ..Vote::default() }),
    };
    let more = PeerHeartbeat { claims: vec![six; 3], reach: None, ..beat(1) };
    let bare = whole[..whole.len() - 32].to_vec();
    let mut more = emit(&more, &keys("a"));
    more.truncate(more.len() - 32);
    vec![whole, bare, more, b"SYHB".to_vec()]
}

/// Dialogues: two members start, receive each other's heartbeats, and continue.
pub fn talk_seeds() -> Vec<Vec<u8>> {
    let round = [0, 25, 0, 0, 0, 2];
    let hears = |path: u8, newest: u8, number: u8| [2 + path, 1, 0, newest, 0, number];
    let stranger = [2, 1, 7, 0, 1, 9];
    let talk = [round, stranger, round, hears(0, 1, 1), hears(1, 2, 1), round, hears(0, 3, 2)];
    vec![talk.concat(), [talk.concat(), talk.concat()].concat(), vec![1; 60]]
}
