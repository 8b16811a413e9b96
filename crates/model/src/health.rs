//! Judging one server: a pure machine that is fed results and asked when it wants the next.
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
//! With a probe, connections that fail for clients count as failed probes and ask for a probe at once; only probes
//! raise. A server that was down and answered once is `Unknown` until it has risen: it helps at once when nothing
//! else is up, and is not trusted otherwise. One that was configured to begin `down` waits for the whole rise.
//! Without a probe only failed connections speak; after the back-off the machine asks for a trial, a TCP
//! connection, with its handshake where the pool speaks TLS, so that no client's request is needed to find out.
//!
//! While in doubt — falling, rising, in the first minute of being down, or down while the pool has nothing up —
//! probes come at the `doubt` interval, otherwise at `every`.
//!
//! It runs no probe, reads no clock, knows no operator's orders and nothing of other servers.

mod evidence;
mod pace;

pub use evidence::{Basis, Carried, Change, Evidence, Failed, Judged, Seen};

use std::time::Duration;

use crate::config::{Initial, Probe, ProbeKind, ProbeTls};
use crate::moment::Moment;

use pace::{BACK_OFF_JITTER, BACK_OFF_LONGEST, back_off, jittered};

/// Failed connections in a row that take a server down that nobody probes.
const PASSIVE_FALL: u32 = 3;
/// For how long a server that went down is probed at the `doubt` interval.
const FRESHLY_DOWN: Duration = Duration::from_secs(60);
/// Between two trials of a server without a probe while its pool has nothing up. With the time to carry the judgement
/// to the workers, clients wait less than 0.3 s after the first server is back.
const TRIAL_URGENT: Duration = Duration::from_millis(200);
/// One trial of a server without a probe.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(1);

/// The health of one server.
#[derive(Clone, Debug)]
pub struct Health {
    probe: Option<Probe>,
    /// TLS of a trial.
    trial: Option<ProbeTls>,
    state: Judged,
    since: Moment,
    evidence: Evidence,
    /// Good probes in a row.
    good: u32,
    /// Bad probes in a row.
    bad: u32,
    /// Failed connections for clients since the last good sign.
    connects_failed: u32,
    /// Back-offs since the server was last up for long; without a probe.
    trials: u32,
    /// When the last probe or trial ended, or judging began.
    last: Moment,
    /// A probe or trial has ended since `last` was set.
    probed: bool,
    /// A probe is wanted at once.
    prompt: bool,
    /// Configured to begin down, and has not risen yet.
    unproven: bool,
    /// When failures begin to count although nothing good was ever seen; `None`: something was.
    spared: Option<Moment>,
}

/// What is to be done when a probe is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due<'a> {
    /// What; a bare TCP connection for a trial.
    pub kind: &'a ProbeKind,
    /// TLS beneath it.
    pub tls: Option<&'a ProbeTls>,
    /// For how long at most.
    pub timeout: Duration,
    /// Another port than the server's.
    pub port: Option<u16>,
}

impl Health {
    /// A server that nothing is known of. It is what `initial` says, on no evidence.
    pub fn new(initial: Initial, probe: Option<&Probe>, now: Moment) -> Health {
        let state = match initial {
            Initial::Up => Judged::Up,
            Initial::Unknown => Judged::Unknown,
            Initial::Down => Judged::Down,
        };
        let evidence = Evidence {
            basis: Basis::Assumed,
            good: state == Judged::Up,
            text: "no evidence yet".to_owned(),
            at: now,
            streak: 0,
        };
        Health {
            probe: probe.cloned(),
            trial: None,
            state,
            since: now,
            evidence,
            good: 0,
            bad: 0,
            connects_failed: 0,
            trials: 0,
            last: now,
            probed: false,
            prompt: false,
            unproven: state == Judged::Down,
            spared: probe.map(|probe| now + probe.grace),
        }
    }

    /// A server that another process judged. What was counted in a row begins anew; what was judged stays.
    pub fn restore(carried: &Carried, probe: Option<&Probe>, now: Moment) -> Health {
        let mut health = Health::new(Initial::Unknown, probe, now);
        health.state = carried.state;
        health.since = now - carried.held;
        (health.unproven, health.spared) = (false, None);
        health.evidence = Evidence {
            basis: carried.basis,
            good: carried.good,
            text: carried.text.clone(),
            at: now - carried.age,
            streak: carried.streak,
        };
        health
    }

    /// For another process.
    pub fn carried(&self, now: Moment) -> Carried {
        Carried {
            state: self.state,
            held: now.since(self.since),
            basis: self.evidence.basis,
            good: self.evidence.good,
            text: self.evidence.text.clone(),
            age: now.since(self.evidence.at),
            streak: self.evidence.streak,
        }
    }

    /// Has a trial of a server that nobody probes shake hands as clients' connections do; whether that is new.
    pub fn try_over(&mut self, tls: Option<ProbeTls>) -> bool {
        let new = self.probe.is_none() && self.trial != tls;
        self.trial = tls;
        new
    }

    /// Takes new settings after a reload. The judgement and its evidence stay; if anything of the probe changed,
    /// counting begins anew and a probe comes soon.
    pub fn carry(&mut self, probe: Option<&Probe>, now: Moment) {
        if self.probe.as_ref() == probe {
            return;
        }
        self.probe = probe.cloned();
        (self.good, self.bad, self.connects_failed, self.trials) = (0, 0, 0, 0);
        (self.last, self.probed, self.prompt) = (now, false, false);
    }

    /// The judgement.
    pub fn state(&self) -> Judged {
        self.state
    }

    /// Since when it has been that.
    pub fn since(&self) -> Moment {
        self.since
    }

    /// The last thing that was learned.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// A probe, or a trial, has ended.
    pub fn probe_result(&mut self, now: Moment, result: Result<Seen, Failed>) -> Option<Change> {
        let regular = now.since(self.last) + TRIAL_URGENT >= back_off(self.trials);
        (self.last, self.probed, self.prompt) = (now, true, false);
        let (good, text) = match result {
            Ok(Seen { text }) => (true, text),
            Err(Failed { text }) => (false, text),
        };
        let assumed = self.learn(now, Basis::Probe, good, text);
        if good {
            (self.good, self.bad) = (self.good.saturating_add(1), 0);
            self.connects_failed = 0;
        } else {
            (self.good, self.bad) = (0, self.bad.saturating_add(1));
        }
        if good {
            self.spared = None;
        } else if self.spared.is_some_and(|until| now < until) {
            // It may still be starting: told, and not held against it.
            (self.bad, self.connects_failed) = (0, 0);
            return None;
        }
        let to = match (self.probe.is_some(), good) {
            (true, true) => self.after_good_probe(assumed),
            (true, false) => self.after_bad(),
            (false, _) => self.after_trial(good, regular),
        };
        self.settle(now, to)
    }

    /// A connection for a client could not be made.
    pub fn connect_failed(&mut self, now: Moment, reason: &str) -> Option<Change> {
        self.good = 0;
        if self.state == Judged::Down {
            return None;
        }
        self.learn(now, Basis::Passive, false, reason.to_owned());
        self.connects_failed = self.connects_failed.saturating_add(1);
        self.prompt = self.probe.is_some();
        let to = self.after_bad();
        self.settle(now, to)
    }

    /// A connection for a client was made, after one had failed.
    pub fn connect_succeeded(&mut self, now: Moment) -> Option<Change> {
        self.connects_failed = 0;
        if self.probe.is_some() {
            return None;
        }
        self.bad = 0;
        self.learn(now, Basis::Passive, true, "a client's connection was made".to_owned());
        self.settle(now, Judged::Up)
    }

    /// When the next probe or trial is wanted; `Moment::NEVER` when none is. `draw` is 64 random bits;
    /// `nothing_up` says that the pool has no server that is up. Ask again after every call that fed the machine
    /// and when `nothing_up` changes: the answer may have come nearer.
    pub fn next_probe(&self, now: Moment, draw: u64, nothing_up: bool) -> Moment {
        let Some(probe) = &self.probe else {
            return self.next_trial(draw, nothing_up);
        };
        if !self.probed {
            // The first ones of many servers are spread over one short interval.
            return self.last + jittered(probe.doubt, 100, draw);
        }
        if self.prompt {
            return now.max(self.last + probe.doubt.min(probe.every));
        }
        let interval = if self.in_doubt(now, nothing_up) { probe.doubt } else { probe.every };
        self.last + jittered(interval, probe.jitter, draw)
    }

    /// What is to be done when it is due.
    pub fn due(&self) -> Due<'_> {
        match &self.probe {
            Some(probe) => Due {
                kind: &probe.kind,
                tls: probe.tls.as_ref(),
                timeout: probe.timeout,
                port: probe.port,
            },
            None => Due {
                kind: &ProbeKind::Tcp,
                tls: self.trial.as_ref(),
                timeout: TRIAL_TIMEOUT,
                port: None,
            },
        }
    }

    fn next_trial(&self, draw: u64, nothing_up: bool) -> Moment {
        match self.state {
            Judged::Up => Moment::NEVER,
            Judged::Unknown => self.last + jittered(TRIAL_URGENT, 100, draw),
            Judged::Down => {
                let wait = back_off(self.trials);
                let wait = if nothing_up { wait.min(TRIAL_URGENT) } else { wait };
                self.last.max(self.since) + jittered(wait, BACK_OFF_JITTER, draw)
            }
        }
    }

    fn in_doubt(&self, now: Moment, nothing_up: bool) -> bool {
        match self.state {
            Judged::Up => self.bad + self.connects_failed > 0,
            Judged::Unknown => true,
            Judged::Down => self.good > 0 || nothing_up || now.since(self.since) < FRESHLY_DOWN,
        }
    }

    /// `assumed`: this was the first evidence ever.
    fn after_good_probe(&self, assumed: bool) -> Judged {
        let risen = self.good >= self.rise();
        match self.state {
            Judged::Up => Judged::Up,
            Judged::Unknown if assumed || risen => Judged::Up,
            Judged::Unknown => Judged::Unknown,
            Judged::Down if risen => Judged::Up,
            // Had it ever failed, one good sign would lend it to a pool that has nothing else.
            Judged::Down if self.unproven => Judged::Down,
            Judged::Down => Judged::Unknown,
        }
    }

    fn after_bad(&self) -> Judged {
        let probe = self.probe.as_ref();
        let fall = probe.map_or(PASSIVE_FALL, |probe| u32::from(probe.fall.max(1)));
        match self.state {
            Judged::Up if self.bad.saturating_add(self.connects_failed) < fall => Judged::Up,
            _ => Judged::Down,
        }
    }

    /// A trial that came early because nothing was up does not lengthen the back-off; one that comes late, when a
    /// client got through meanwhile, is one failure like any other.
    fn after_trial(&mut self, good: bool, regular: bool) -> Judged {
        if self.state == Judged::Down && regular {
            self.trials = self.trials.saturating_add(1);
        }
        if good { Judged::Up } else { self.after_bad() }
    }

    fn rise(&self) -> u32 {
        self.probe.as_ref().map_or(1, |probe| u32::from(probe.rise.max(1)))
    }

    /// Keeps the evidence. Returns whether it is the first.
    fn learn(&mut self, now: Moment, basis: Basis, good: bool, text: String) -> bool {
        let assumed = self.evidence.basis == Basis::Assumed;
        let same = !assumed && self.evidence.good == good;
        let streak = if same { self.evidence.streak.saturating_add(1) } else { 1 };
        self.evidence = Evidence { basis, good, text, at: now, streak };
        assumed
    }

    fn settle(&mut self, now: Moment, to: Judged) -> Option<Change> {
        let from = self.state;
        if from == to {
            return None;
        }
        if from == Judged::Up && now.since(self.since) >= BACK_OFF_LONGEST {
            self.trials = 0;
        }
        (self.state, self.since, self.unproven) = (to, now, false);
        if to != Judged::Up {
            (self.bad, self.connects_failed) = (0, 0);
        }
        Some(Change { from, to })
    }
}
