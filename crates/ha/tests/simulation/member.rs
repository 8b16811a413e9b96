//! One member: its state machine, its clock, and its kernel state, which outlives the process.

use std::net::IpAddr;
use std::time::Duration;

use ha::advert::VrrpVersion;
use ha::counts::VrrpCounters;
use ha::settings::VrrpSettings;
use ha::state_machine::VrrpStateMachine;
use model::monotonic_time::MonotonicTime;

use super::dice::SeededRandom;

const MS: Duration = Duration::from_millis(1);

pub struct SimulatedMember {
    pub machine: VrrpStateMachine,
    pub settings: VrrpSettings,
    /// How far this clock is ahead of the simulation's, in milliseconds. A restarted process has the same clock.
    pub ahead: u64,
    pub alive: bool,
    /// Stopped by a signal until this time.
    pub stopped: u64,
    /// The kernel's state, which outlives the process: the address, and until when (own clock) it may answer.
    pub address: bool,
    pub lease_until: MonotonicTime,
    /// Counters of earlier processes.
    pub counts: Vec<VrrpCounters>,
}

impl SimulatedMember {
    /// The member with this number; `refresh`: see the settings.
    pub fn new(
        at: usize,
        v6: bool,
        (interval, refresh): (Duration, Option<Duration>),
        preempt: bool,
        dice: &mut SeededRandom,
    ) -> SimulatedMember {
        let last = u8::try_from(at + 1).unwrap();
        let (source, shared): (IpAddr, IpAddr) = if v6 {
            (format!("fe80::{last}").parse().unwrap(), "2001:db8::10".parse().unwrap())
        } else {
            ([192, 0, 2, last].into(), [192, 0, 2, 10].into())
        };
        let settings = VrrpSettings {
            version: VrrpVersion::V3,
            group: 7,
            priority: u8::try_from(dice.between(1, 255)).unwrap(),
            interval,
            preempt,
            preempt_delay: if dice.percent(30) { MS * 500 } else { Duration::ZERO },
            addresses: vec![shared],
            source,
            fencing_timeout: interval * 5 / 2,
            refresh,
            virtual_link: false,
        };
        SimulatedMember {
            machine: VrrpStateMachine::new(settings.clone()),
            settings,
            ahead: dice.between(0, 100_000),
            alive: true,
            stopped: 0,
            address: false,
            lease_until: MonotonicTime::default(),
            counts: Vec::new(),
        }
    }
}
