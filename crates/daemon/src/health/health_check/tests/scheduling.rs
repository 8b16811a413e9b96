//! When which server is probed, and what is reported: virtual time, no sockets.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::id::ServerId;
use model::monotonic_time::MonotonicTime;

use crate::health::health_check::counts::ProbeCounts;
use crate::health::health_check::evidence_board::EvidenceBoard;
use crate::health::health_check::health_checkers::HealthCheckers;
use crate::health::health_check::target::{
    ConnectObservation, DueServerProbe, ProbeOutcome, ProbeTicket,
};
use crate::health::health_check::{ProberParts, new_prober};
use crate::observability::report::fixture;
use crate::state::{HealthReport, HealthState, StateSnapshot};

const TEXT: &str = r#"
[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"

[pool.web]
probe = { tcp = true, interval = "2s", fast-interval = "250ms", rise = 2, fall = 3, jitter = 10 }
servers = [
  { name = "a", address = "127.0.0.1:1001" },
  { name = "b", address = "127.0.0.1:1002" },
]
"#;

/// A probe that was requested of a port.
struct RecordedProbe {
    port: u16,
    at: MonotonicTime,
}

/// When a probe under way ends, in virtual time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ProbeEnd {
    at: MonotonicTime,
    number: u64,
}

struct ProbeUnderWay {
    ticket: ProbeTicket,
    port: u16,
}

/// Servers with fixed answers, and their health checkers, in virtual time.
struct SchedulingRun {
    judges: HealthCheckers,
    board: Arc<EvidenceBoard>,
    counts: Arc<ProbeCounts>,
    down: HashMap<u16, ProbeOutcome>,
    asked: Vec<RecordedProbe>,
    under_way: BTreeSet<ProbeEnd>,
    tickets: HashMap<u64, ProbeUnderWay>,
    most: usize,
    at_once: usize,
    takes: Duration,
    now: MonotonicTime,
    told: Vec<HealthReport>,
}

fn start(snapshot: StateSnapshot) -> SchedulingRun {
    start_with(snapshot, 100, Duration::from_millis(1))
}

fn start_with(snapshot: StateSnapshot, at_once: usize, takes: Duration) -> SchedulingRun {
    let board = Arc::<EvidenceBoard>::default();
    let counts = Arc::<ProbeCounts>::default();
    let mut judges = HealthCheckers::new(7, Arc::clone(&counts), Arc::clone(&board));
    judges.update_servers(&snapshot, MonotonicTime(0), SystemTime::now());
    SchedulingRun {
        judges,
        board,
        counts,
        down: HashMap::new(),
        asked: Vec::new(),
        under_way: BTreeSet::new(),
        tickets: HashMap::new(),
        most: 0,
        at_once,
        takes,
        now: MonotonicTime(0),
        told: Vec::new(),
    }
}

impl SchedulingRun {
    fn set(&mut self, port: u16, outcome: Option<&str>) {
        match outcome {
            Some(why) => self.down.insert(port, ProbeOutcome::Failed(why.into())),
            None => self.down.remove(&port),
        };
    }

    fn probe_times(&self, port: u16) -> Vec<MonotonicTime> {
        self.asked.iter().filter(|asked| asked.port == port).map(|asked| asked.at).collect()
    }

    /// Lets the next thing happen, unless it lies beyond `end`.
    fn step(&mut self, end: MonotonicTime) -> bool {
        while self.under_way.len() < self.at_once
            && let Some(DueServerProbe { ticket, target }) = self.judges.take_due(self.now)
        {
            let number = self.asked.len() as u64;
            let port = target.datagram_address().port();
            self.asked.push(RecordedProbe { port, at: self.now });
            self.under_way.insert(ProbeEnd { at: self.now + self.takes, number });
            self.tickets.insert(number, ProbeUnderWay { ticket, port });
            self.most = self.most.max(self.under_way.len());
        }
        let done = self.under_way.first().map(|end| end.at);
        let due = if self.under_way.len() < self.at_once { self.judges.next_due() } else { None };
        let next = [done, due].into_iter().flatten().min().unwrap_or(MonotonicTime::NEVER);
        if next > end {
            self.now = end;
            return false;
        }
        self.now = self.now.max(next);
        while let Some(end) = self.under_way.first().copied().filter(|end| end.at <= self.now) {
            self.under_way.remove(&end);
            let ProbeUnderWay { ticket, port } = self.tickets.remove(&end.number).unwrap();
            let good = ProbeOutcome::Passed("connected".into());
            let outcome = self.down.get(&port).cloned().unwrap_or(good);
            let began = end.at - self.takes;
            let now = SystemTime::now();
            let verdict = self.judges.handle_outcome(ticket, outcome, began, self.now, now);
            self.told.extend(verdict);
        }
        true
    }

    fn observe(&mut self, observed: ConnectObservation) {
        let verdict = self.judges.handle_observation(observed, self.now, SystemTime::now());
        self.told.extend(verdict);
    }

    /// The next verdict, within ten minutes.
    fn verdict(&mut self) -> HealthReport {
        let end = self.now + Duration::from_secs(600);
        while self.told.is_empty() && self.step(end) {}
        self.told.remove(0)
    }

    /// The verdicts of some virtual time.
    fn verdicts(&mut self, span: Duration) -> Vec<(u32, HealthState)> {
        let end = self.now + span;
        while self.step(end) {}
        self.told.drain(..).map(|verdict| (verdict.server.0, verdict.health)).collect()
    }
}

// Rows: I17
#[test]
fn servers_rise_are_probed_at_their_interval_and_fall() {
    let mut run = start(fixture::state_snapshot(TEXT, 1));
    let first = run.verdicts(Duration::from_secs(1));
    assert_eq!(first.len(), 2, "{first:?}");
    assert!(first.iter().all(|(_, health)| *health == HealthState::Up));
    run.verdicts(Duration::from_secs(20));
    let times = run.probe_times(1001);
    let gaps: Vec<_> = times.windows(2).skip(3).map(|pair| pair[1].since(pair[0])).collect();
    assert!(gaps.len() >= 6, "{gaps:?}");
    let least = Duration::from_millis(1790);
    let most = Duration::from_millis(2010);
    assert!(gaps.iter().all(|gap| (least..most).contains(gap)), "{gaps:?}");
    assert!(gaps.iter().any(|gap| gap != &gaps[0]), "jitter");

    run.set(1001, Some("connection refused"));
    let verdict = run.verdict();
    assert_eq!((verdict.server, verdict.health), (ServerId(0), HealthState::Down));
    assert_eq!(verdict.reason, "connection refused");
    let fell: Vec<_> = run.probe_times(1001).into_iter().rev().take(3).collect();
    assert!(
        fell[0].since(fell[2]) <= Duration::from_millis(510),
        "in doubt it is asked more often"
    );
    let note = run.board.latest(ServerId(0)).unwrap();
    assert_eq!(
        (note.describe().as_str(), note.good, note.in_a_row),
        ("connection refused", false, 3)
    );
    assert_eq!(note.probe.as_deref(), Some("tcp at 127.0.0.1:1001"));

    run.set(1001, None);
    let back = run.verdicts(Duration::from_secs(3));
    assert_eq!(back.last(), Some(&(0, HealthState::Up)));
    assert!(
        run.counts.totals().passed > 10 && run.counts.totals().failed == 3,
        "{:?}",
        run.counts.totals()
    );
}

#[test]
fn what_stays_the_same_is_reported_once() {
    let mut run = start(fixture::state_snapshot(TEXT, 1));
    run.set(1002, Some("connection refused"));
    let verdicts = run.verdicts(Duration::from_secs(120));
    assert_eq!(verdicts.iter().filter(|(server, _)| *server == 0).count(), 1, "{verdicts:?}");
    assert_eq!(verdicts.iter().filter(|(server, _)| *server == 1).count(), 1, "{verdicts:?}");
    run.set(1002, Some("no connection within 1 s"));
    assert_eq!(run.verdict().reason, "no connection within 1 s", "another reason is news");
}

#[test]
fn a_clients_failed_connection_asks_for_a_probe_at_once() {
    let mut run = start(fixture::state_snapshot(TEXT, 1));
    run.verdicts(Duration::from_secs(5));
    run.set(1001, Some("connection refused"));
    let before = run.probe_times(1001).len();
    let begin = run.now;
    run.observe(ConnectObservation::Failed(ServerId(0), "connection refused".into()));
    assert_eq!(run.verdict().health, HealthState::Down);
    assert!(run.now.since(begin) < Duration::from_millis(1100));
    assert!(run.probe_times(1001).len() > before);
}

#[test]
fn a_server_that_stays_keeps_its_judgement_and_one_that_goes_is_left_alone() {
    let mut run = start(fixture::state_snapshot(TEXT, 1));
    run.verdicts(Duration::from_secs(5));
    let mut snapshot = fixture::state_snapshot(&TEXT.replace("2s", "10s"), 1);
    let gone = ServerId(1);
    snapshot.servers.remove(&gone);
    run.judges.update_servers(&snapshot, run.now, SystemTime::now());
    let count = run.probe_times(1002).len();
    let verdicts = run.verdicts(Duration::from_secs(60));
    assert!(
        verdicts.iter().all(|(server, health)| (*server, *health) == (0, HealthState::Up)),
        "{verdicts:?}"
    );
    assert_eq!(run.probe_times(1002).len(), count);
    assert!(run.board.latest(gone).is_none());
    let gaps = run.probe_times(1001);
    let last: Vec<_> = gaps.windows(2).rev().take(3).map(|pair| pair[1].since(pair[0])).collect();
    assert!(
        last.iter().all(|gap| *gap >= Duration::from_millis(8990)),
        "the new interval: {last:?}"
    );
}

#[test]
fn what_was_found_before_a_restart_stands_until_there_is_evidence_against_it() {
    let mut snapshot = fixture::state_snapshot(TEXT, 1);
    fixture::change(&mut snapshot, "a", |facts| {
        facts.health_status.evidence = true;
        facts.health_status.health = HealthState::Up;
        facts.health_status.reason = "connected in 1.0 ms".into();
    });
    let mut run = start(snapshot);
    run.set(1001, Some("connection refused"));
    run.set(1002, Some("connection refused"));
    let verdicts = run.verdicts(Duration::from_millis(260));
    assert!(!verdicts.contains(&(0, HealthState::Down)), "one failure of three: {verdicts:?}");
    let verdicts = run.verdicts(Duration::from_secs(2));
    assert!(verdicts.contains(&(0, HealthState::Down)), "{verdicts:?}");
}

#[test]
fn our_own_want_is_no_evidence() {
    let mut run = start(fixture::state_snapshot(TEXT, 1));
    run.verdicts(Duration::from_secs(5));
    run.down.insert(1001, ProbeOutcome::NotMade("cannot probe: too many open files".into()));
    assert!(run.verdicts(Duration::from_secs(60)).is_empty());
    assert!(run.counts.totals().not_made > 20, "it is tried again");
}

#[test]
fn many_servers_are_probed_with_bounded_work_and_lateness_is_counted() {
    let servers: String = (1..=200u32)
        .map(|n| format!("{{ name = \"s{n}\", address = \"127.0.0.{n}:80\" }},\n"))
        .collect();
    let (head, _) = TEXT.split_once("servers = [").unwrap();
    let snapshot = fixture::state_snapshot(&format!("{head}servers = [\n{servers}]\n"), 1);
    // 200 probes of 20 ms, 8 at a time: half a second, though the first are wanted within a quarter.
    let mut run = start_with(snapshot, 8, Duration::from_millis(20));
    let first = run.verdicts(Duration::from_millis(600));
    assert_eq!(first.len(), 200);
    assert_eq!(run.most, 8);
    assert!(run.counts.totals().late > 0);
}

#[test]
fn reports_beyond_the_box_are_dropped_and_counted() {
    let ProberParts { prober, observer } = new_prober().unwrap();
    for _ in 0..10_000 {
        observer.connect_succeeded(ServerId(0));
    }
    assert_eq!(prober.counts.totals().observations_dropped, 10_000 - 4_096);
}

#[test]
fn a_server_that_starts_is_spared_until_its_grace_is_over() {
    let text = TEXT.replace("jitter = 10", "jitter = 10, grace = \"30s\"");
    let mut run = start(fixture::state_snapshot(&text, 1));
    run.set(1001, Some("connection refused"));
    let early = run.verdicts(Duration::from_secs(29));
    assert!(!early.contains(&(0, HealthState::Down)), "{early:?}");
    let times = run.probe_times(1001);
    assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) <= Duration::from_millis(260)));
    let late = run.verdicts(Duration::from_secs(3));
    assert!(late.contains(&(0, HealthState::Down)), "{late:?}");
}
