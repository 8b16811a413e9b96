//! The health checker of one server: a pure state machine that receives results and returns when the next check is due.
//!
//! ```text
//!   with a probe                                 without
//!
//!     Unknown ──first result good──▶ Up            Unknown ──good──▶ Up ◀──────good───────┐
//!        │                          ▲  │              │               │                   │
//!     any result bad    rise in a row  fall in a row  bad    3 failed connects        trial after
//!        ▼                          │  ▼              ▼        in a row               back-off
//!      Down ◀──────bad────── Unknown   │            Down ◀────────────┘                   │
//!        │ ▲                 (rising)  │              │ ▲                                  │
//!        │ └────────────────────┼──────┘              │ └──bad: back-off doubles, 1–30 s──┤
//!        └─────first good───────┘                     └──────────────────────────────────┘
//! ```
//!
//! With a probe, connections that fail for clients count as failed probes and trigger a probe at once; only probes
//! raise. A server that was down and has responded once is `Unknown` until it has risen: it gets work if no other
//! server is up. A server that is configured to start `down` needs the whole rise.
//!
//! Without a probe only failed connections count. After the back-off the state machine requests a trial: a TCP
//! connection, with its handshake if the pool uses TLS. So no client's request is needed to notice a recovery.
//!
//! While in doubt (falling, rising, in the first minute of being down, or down while the pool has no server up), probes
//! come at the `fast-interval` interval, otherwise at `interval`.
//!
//! The state machine runs no probe and reads no clock. It ignores server commands and other servers.

mod evidence;
mod probe_timing;

pub use evidence::{
    EvidenceSource, HealthSnapshot, HealthTransition, HealthVerdict, ProbeFailure, ProbeSuccess,
    VerdictEvidence,
};

use std::time::Duration;

use crate::config::{InitialState, ProbeConfig, ProbeKind, ProbeTls};
use crate::monotonic_time::MonotonicTime;

use probe_timing::{BACK_OFF_JITTER, BACK_OFF_LONGEST, back_off, jittered};

/// Failed connections in a row that take a server without a probe down.
/// As the default of `fall`.
const PASSIVE_FALL: u32 = 3;
/// How long a server that went down is probed at the `fast-interval` interval.
/// A server that restarts is found soon; one that stays down is probed at its usual interval.
const FRESHLY_DOWN: Duration = Duration::from_secs(60);
/// Time between two trials of a server without a probe while its pool has no server up. With the time to publish the
/// verdict to the workers, clients wait less than 0.3 s after the first server has recovered.
const TRIAL_URGENT: Duration = Duration::from_millis(200);
/// The timeout of a trial: bounds how long a silent server delays the next one.
/// As the default of a probe's `timeout`.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct ServerHealth {
    probe: Option<ProbeConfig>,
    trial_tls: Option<ProbeTls>,
    verdict: HealthVerdict,
    since: MonotonicTime,
    evidence: VerdictEvidence,
    successes: u32,
    failures: u32,
    /// Failed connections for clients since the last success.
    connects_failed: u32,
    /// Back-offs since the server was last up for long (without a probe).
    trials: u32,
    /// When the last probe or trial ended, or checking began.
    last: MonotonicTime,
    /// A probe or trial has ended since `last` was set.
    probed: bool,
    /// A probe is due at once.
    probe_now: bool,
    /// Configured to start down, and not risen yet.
    unproven: bool,
    /// When failures start to count although no check ever succeeded; `None`: a check has succeeded.
    grace_until: Option<MonotonicTime>,
}

/// The parameters of a probe that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueProbe<'a> {
    /// The kind; a bare TCP connection for a trial.
    pub kind: &'a ProbeKind,
    pub tls: Option<&'a ProbeTls>,
    pub timeout: Duration,
    /// A port other than the server's.
    pub port: Option<u16>,
}

impl ServerHealth {
    /// A server without evidence; its verdict is `initial`.
    pub fn new(
        initial: InitialState,
        probe: Option<&ProbeConfig>,
        now: MonotonicTime,
    ) -> ServerHealth {
        let state = match initial {
            InitialState::Up => HealthVerdict::Up,
            InitialState::Unknown => HealthVerdict::Unknown,
            InitialState::Down => HealthVerdict::Down,
        };
        let evidence = VerdictEvidence {
            basis: EvidenceSource::Assumed,
            good: state == HealthVerdict::Up,
            text: "no evidence yet".to_owned(),
            at: now,
            streak: 0,
        };
        ServerHealth {
            probe: probe.cloned(),
            trial_tls: None,
            verdict: state,
            since: now,
            evidence,
            successes: 0,
            failures: 0,
            connects_failed: 0,
            trials: 0,
            last: now,
            probed: false,
            probe_now: false,
            unproven: state == HealthVerdict::Down,
            grace_until: probe.map(|probe| now + probe.grace),
        }
    }

    /// Restores a server from another process: the verdict stays, streaks begin anew.
    pub fn from_snapshot(
        carried: &HealthSnapshot,
        probe: Option<&ProbeConfig>,
        now: MonotonicTime,
    ) -> ServerHealth {
        let mut health = ServerHealth::new(InitialState::Unknown, probe, now);
        health.verdict = carried.state;
        health.since = now - carried.held;
        health.unproven = false;
        health.grace_until = None;
        health.evidence = VerdictEvidence {
            basis: carried.basis,
            good: carried.good,
            text: carried.text.clone(),
            at: now - carried.age,
            streak: carried.streak,
        };
        health
    }

    pub fn to_snapshot(&self, now: MonotonicTime) -> HealthSnapshot {
        HealthSnapshot {
            state: self.verdict,
            held: now.since(self.since),
            basis: self.evidence.basis,
            good: self.evidence.good,
            text: self.evidence.text.clone(),
            age: now.since(self.evidence.at),
            streak: self.evidence.streak,
        }
    }

    /// Sets the TLS of trials, as clients' connections have it; returns whether that changed.
    pub fn set_trial_tls(&mut self, tls: Option<ProbeTls>) -> bool {
        let new = self.probe.is_none() && self.trial_tls != tls;
        self.trial_tls = tls;
        new
    }

    /// Applies new settings after a reload. The verdict and its evidence stay. If any setting of the probe changed,
    /// streaks restart and a probe follows soon.
    pub fn update_settings(&mut self, probe: Option<&ProbeConfig>, now: MonotonicTime) {
        if self.probe.as_ref() == probe {
            return;
        }
        self.probe = probe.cloned();
        self.successes = 0;
        self.failures = 0;
        self.connects_failed = 0;
        self.trials = 0;
        self.last = now;
        self.probed = false;
        self.probe_now = false;
    }

    pub fn verdict(&self) -> HealthVerdict {
        self.verdict
    }

    pub fn since(&self) -> MonotonicTime {
        self.since
    }

    pub fn evidence(&self) -> &VerdictEvidence {
        &self.evidence
    }

    /// Records the result of a probe or a trial.
    pub fn probe_result(
        &mut self,
        now: MonotonicTime,
        result: Result<ProbeSuccess, ProbeFailure>,
    ) -> Option<HealthTransition> {
        let regular = now.since(self.last) + TRIAL_URGENT >= back_off(self.trials);
        self.last = now;
        self.probed = true;
        self.probe_now = false;
        let (good, text) = match result {
            Ok(ProbeSuccess { text }) => (true, text),
            Err(ProbeFailure { text }) => (false, text),
        };
        let assumed = self.record_evidence(now, EvidenceSource::Probe, good, text);
        if good {
            self.successes = self.successes.saturating_add(1);
            self.failures = 0;
            self.connects_failed = 0;
        } else {
            (self.successes, self.failures) = (0, self.failures.saturating_add(1));
        }
        if good {
            self.grace_until = None;
        } else if self.grace_until.is_some_and(|until| now < until) {
            // The server may still be starting: the failure is reported, but does not count.
            self.failures = 0;
            self.connects_failed = 0;
            return None;
        }
        let to = match (self.probe.is_some(), good) {
            (true, true) => self.verdict_after_success(assumed),
            (true, false) => self.verdict_after_failure(),
            (false, _) => self.verdict_after_trial(good, regular),
        };
        self.transition_to(now, to)
    }

    /// A connection for a client failed.
    pub fn connect_failed(&mut self, now: MonotonicTime, reason: &str) -> Option<HealthTransition> {
        self.successes = 0;
        if self.verdict == HealthVerdict::Down {
            return None;
        }
        self.record_evidence(now, EvidenceSource::Passive, false, reason.to_owned());
        self.connects_failed = self.connects_failed.saturating_add(1);
        self.probe_now = self.probe.is_some();
        let to = self.verdict_after_failure();
        self.transition_to(now, to)
    }

    /// A connection for a client was established after one had failed.
    pub fn connect_succeeded(&mut self, now: MonotonicTime) -> Option<HealthTransition> {
        self.connects_failed = 0;
        if self.probe.is_some() {
            return None;
        }
        self.failures = 0;
        self.record_evidence(
            now,
            EvidenceSource::Passive,
            true,
            "a client's connection was made".to_owned(),
        );
        self.transition_to(now, HealthVerdict::Up)
    }

    /// When the next probe or trial is due; `MonotonicTime::NEVER`: none. `draw` is 64 random bits; `nothing_up`: the
    /// pool has no server that is up. Callers call it after every recorded result and when `nothing_up` changes,
    /// because the time may then be earlier.
    pub fn next_probe(&self, now: MonotonicTime, draw: u64, nothing_up: bool) -> MonotonicTime {
        let Some(probe) = &self.probe else {
            return self.next_trial(draw, nothing_up);
        };
        if !self.probed {
            // The first probes of many servers are spread over one short interval.
            return self.last + jittered(probe.fast_interval, 100, draw);
        }
        if self.probe_now {
            return now.max(self.last + probe.fast_interval.min(probe.every));
        }
        let interval =
            if self.in_doubt(now, nothing_up) { probe.fast_interval } else { probe.every };
        self.last + jittered(interval, probe.jitter, draw)
    }

    /// The probe or trial that is due.
    pub fn due_probe(&self) -> DueProbe<'_> {
        match &self.probe {
            Some(probe) => DueProbe {
                kind: &probe.kind,
                tls: probe.tls.as_ref(),
                timeout: probe.timeout,
                port: probe.port,
            },
            None => DueProbe {
                kind: &ProbeKind::Tcp,
                tls: self.trial_tls.as_ref(),
                timeout: TRIAL_TIMEOUT,
                port: None,
            },
        }
    }

    fn next_trial(&self, draw: u64, nothing_up: bool) -> MonotonicTime {
        match self.verdict {
            HealthVerdict::Up => MonotonicTime::NEVER,
            HealthVerdict::Unknown => self.last + jittered(TRIAL_URGENT, 100, draw),
            HealthVerdict::Down => {
                let wait = back_off(self.trials);
                let wait = if nothing_up { wait.min(TRIAL_URGENT) } else { wait };
                self.last.max(self.since) + jittered(wait, BACK_OFF_JITTER, draw)
            }
        }
    }

    fn in_doubt(&self, now: MonotonicTime, nothing_up: bool) -> bool {
        match self.verdict {
            HealthVerdict::Up => self.failures + self.connects_failed > 0,
            HealthVerdict::Unknown => true,
            HealthVerdict::Down => {
                self.successes > 0 || nothing_up || now.since(self.since) < FRESHLY_DOWN
            }
        }
    }

    /// `assumed`: this was the first evidence ever.
    fn verdict_after_success(&self, assumed: bool) -> HealthVerdict {
        let risen = self.successes >= self.rise_threshold();
        match self.verdict {
            HealthVerdict::Up => HealthVerdict::Up,
            HealthVerdict::Unknown if assumed || risen => HealthVerdict::Up,
            HealthVerdict::Unknown => HealthVerdict::Unknown,
            HealthVerdict::Down if risen => HealthVerdict::Up,
            // Had it ever failed, one success would make it eligible in a pool that has no other server.
            HealthVerdict::Down if self.unproven => HealthVerdict::Down,
            HealthVerdict::Down => HealthVerdict::Unknown,
        }
    }

    fn verdict_after_failure(&self) -> HealthVerdict {
        let probe = self.probe.as_ref();
        let fall = probe.map_or(PASSIVE_FALL, |probe| u32::from(probe.fall.max(1)));
        match self.verdict {
            HealthVerdict::Up if self.failures.saturating_add(self.connects_failed) < fall => {
                HealthVerdict::Up
            }
            _ => HealthVerdict::Down,
        }
    }

    /// A trial that ran early because nothing was up does not lengthen the back-off. A late one, after a client's
    /// connection had succeeded, counts as one failure.
    fn verdict_after_trial(&mut self, good: bool, regular: bool) -> HealthVerdict {
        if self.verdict == HealthVerdict::Down && regular {
            self.trials = self.trials.saturating_add(1);
        }
        if good { HealthVerdict::Up } else { self.verdict_after_failure() }
    }

    fn rise_threshold(&self) -> u32 {
        self.probe.as_ref().map_or(1, |probe| u32::from(probe.rise.max(1)))
    }

    /// Stores the evidence; returns whether it is the first.
    fn record_evidence(
        &mut self,
        now: MonotonicTime,
        basis: EvidenceSource,
        good: bool,
        text: String,
    ) -> bool {
        let assumed = self.evidence.basis == EvidenceSource::Assumed;
        let same = !assumed && self.evidence.good == good;
        let streak = if same { self.evidence.streak.saturating_add(1) } else { 1 };
        self.evidence = VerdictEvidence { basis, good, text, at: now, streak };
        assumed
    }

    fn transition_to(&mut self, now: MonotonicTime, to: HealthVerdict) -> Option<HealthTransition> {
        let from = self.verdict;
        if from == to {
            return None;
        }
        if from == HealthVerdict::Up && now.since(self.since) >= BACK_OFF_LONGEST {
            self.trials = 0;
        }
        self.verdict = to;
        self.since = now;
        self.unproven = false;
        if to != HealthVerdict::Up {
            self.failures = 0;
            self.connects_failed = 0;
        }
        Some(HealthTransition { from, to })
    }
}
