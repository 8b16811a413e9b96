//! An uplink's health: rows, and a seeded simulation of targets that fail and recover.

use proptest::prelude::*;

use super::*;

const EVERY: u64 = 100;
const TIMEOUT: u64 = 80;
const FALL: u8 = 3;
const RISE: u8 = 2;

fn probe(targets: usize, need: u8) -> UplinkProbe {
    let echo = (1..=targets).map(|last| format!("198.51.100.{last}").parse().unwrap());
    UplinkProbe {
        echo: echo.collect(),
        connect: vec!["[2001:db8::1]:443".parse().unwrap()],
        need,
        every: Duration::from_millis(EVERY),
        timeout: Duration::from_millis(TIMEOUT),
        rise: RISE,
        fall: FALL,
    }
}

fn gateway() -> IpAddr {
    "192.0.2.1".parse().unwrap()
}

fn at(ms: u64) -> MonotonicTime {
    MonotonicTime(ms * 1_000_000)
}

#[test]
fn without_targets_of_its_family_the_gateway_is_probed() {
    let judge = UplinkHealth::new(gateway(), Some(&probe(0, 1)));
    assert_eq!(judge.targets().collect::<Vec<_>>(), [UplinkTarget::Echo(gateway())]);
    let v6 = UplinkHealth::new("fd00::1".parse().unwrap(), Some(&probe(2, 1)));
    assert_eq!(
        v6.targets().map(|target| target.to_string()).collect::<Vec<_>>(),
        ["[2001:db8::1]:443"]
    );
}

#[test]
fn it_is_down_until_it_can_send_and_says_why() {
    let mut judge = UplinkHealth::new(gateway(), Some(&probe(1, 1)));
    assert!(!judge.is_up() && judge.take_probes(at(0)).is_empty());
    judge.set_interface(true, Some("gateway 192.0.2.1 is in no network of eth1".to_owned()));
    assert!(!judge.is_up() && !judge.is_usable() && judge.take_probes(at(0)).is_empty());
    assert!(judge.reason("eth1").contains("in no network"));
    judge.set_interface(true, None);
    assert!(judge.is_up());
    assert_eq!(judge.reason("eth1"), "nothing speaks against it yet");
    judge.set_interface(false, None);
    assert!(!judge.is_up());
    assert_eq!(judge.reason("eth1"), "eth1 has no carrier");
}

#[test]
fn so_many_as_needed_must_answer() {
    let mut judge = UplinkHealth::new(gateway(), Some(&probe(3, 2)));
    judge.set_interface(true, None);
    for round in 0..10 {
        let now = round * EVERY;
        for question in judge.take_probes(at(now)) {
            // The third target never answers, the second from the fifth round on.
            if question.target == 0 || question.target == 1 && round < 5 {
                judge.receive_reply(question, at(now + 10));
            }
        }
        judge.expire_probes(at(now + TIMEOUT + 1));
        assert_eq!(judge.is_up(), round < 7, "round {round}: {}", judge.reason("eth1"));
    }
    assert_eq!(
        judge.reason("eth1"),
        "1 of 3 targets answer, 2 are needed; silent: 198.51.100.2, 198.51.100.3"
    );
    assert_eq!(judge.round_trip(), Some(Duration::from_millis(10)));
}

#[test]
fn without_a_probe_the_carrier_counts() {
    let mut judge = UplinkHealth::new(gateway(), None);
    judge.set_interface(true, None);
    assert!(judge.is_up() && judge.take_probes(at(0)).is_empty());
    assert_eq!(judge.reason("eth1"), "eth1 has a carrier; nothing is asked");
}

proptest! {
    /// Targets are reachable at times; replies are delayed and some are lost. A target that answers nothing for as long
    /// as the settings demand is left within that time, and one that answers everything is back within its time.
    #[test]
    fn silent_targets_take_an_uplink_down_in_time_and_replies_up(
        spells in prop::collection::vec((1..40_u64, any::<bool>()), 1..12),
        delay in 0..TIMEOUT,
    ) {
        let mut judge = UplinkHealth::new(gateway(), Some(&probe(1, 1)));
        judge.set_interface(true, None);
        let mut now = 0;
        let mut waiting: Vec<(u64, ProbeRequest)> = Vec::new();
        for (rounds, answers) in spells {
            let began = now;
            while now < began + rounds * EVERY {
                judge.expire_probes(at(now));
                for question in judge.take_probes(at(now)) {
                    if answers {
                        waiting.push((now + delay, question));
                    }
                }
                let (due, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(when, _)| *when <= now);
                waiting = later;
                for (when, question) in due {
                    judge.receive_reply(question, at(when));
                }
                let silent = now - began;
                if !answers && silent > EVERY * u64::from(FALL) + TIMEOUT + 10 {
                    prop_assert!(!judge.is_up(), "silent for {silent} ms");
                }
                if answers && silent > EVERY * u64::from(RISE) + TIMEOUT + 10 {
                    prop_assert!(judge.is_up(), "answers for {silent} ms");
                }
                now += 10;
            }
        }
    }
}
