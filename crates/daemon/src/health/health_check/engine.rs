//! The probing thread: one epoll, one heap of deadlines, as many probes under way as descriptors allow.
//!
//! Deadlines that fall close together are served in one turn, so that thousands of probes a second cost few wake-ups.
//! What is probed when, and what a result means, is decided by `health_checkers`.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant, SystemTime};

use ::probe::context::ProbeContext;
use ::probe::probe_plan::ProbeTransport;
use model::load_balancing::Rng;
use model::monotonic_time::MonotonicTime;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::time::Timespec;
use tokio::runtime::Handle;
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

use super::agents::{
    AgentPoller, AgentQueryId, AgentUpdate, AgentWarning, DueAgent, DueAgentQuery,
};
use super::health_checkers::HealthCheckers;
use super::mailbox::{FinishedProgram, ProbeMailbox};
use super::prober_report::{PendingReportKey, ProberReport};
use super::program_probe;
use super::running_probe::{RunningProbe, new_tls_connection};
use super::running_probes::{ProbeSlot, RunningProbes};
use super::target::{ConnectObservation, DueServerProbe, ProbeOutcome, ProbeTarget, ProbeTicket};
use super::tls_settings::ProbeTlsCache;
use crate::state::HealthReport;
use crate::util::event::EventLog;
use crate::util::orphan_reaper::kill_marked;
use crate::util::random_seed::random_seed;

/// Due times are rounded up to a multiple of this, so that one wake-up handles all probes due within it.
/// As the slots of the workers' timer wheel: 4 ms late is early enough for any interval.
const TURN: Duration = Duration::from_millis(4);
/// Events read from epoll per call.
const EVENTS: usize = 512;
/// Bytes read at a time.
const BUFFER: usize = 16 * 1024;
/// The token of the mailbox.
const MAILBOX_TOKEN: u64 = u64::MAX;
/// Between two tries to hand over verdicts that could not be.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// The interval between checks for processes that programs left behind.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// While nothing else is to be done.
const IDLE: Duration = Duration::from_secs(5);

/// Everything the thread has.
pub(super) struct ProbeEngine {
    poll: OwnedFd,
    mailbox: Arc<ProbeMailbox>,
    observations: Receiver<ConnectObservation>,
    reports: Sender<ProberReport>,
    /// The newest reports that did not fit into the queue.
    pending_reports: BTreeMap<PendingReportKey, ProberReport>,
    runtime: Handle,
    checkers: HealthCheckers,
    agents: AgentPoller,
    events: EventLog,
    tls: ProbeTlsCache,
    rng: Rng,
    running: RunningProbes<ProbePurpose>,
    programs: usize,
    /// Marks of programs that have ended and may have left something behind.
    orphan_markers: Vec<String>,
    /// When processes that programs left behind were last looked for.
    last_orphan_sweep: MonotonicTime,
    max_concurrent: usize,
    origin: Instant,
    buffer: Vec<u8>,
}

/// Whose a flight is.
#[derive(Clone, Copy)]
enum ProbePurpose {
    Probe(ProbeTicket),
    Agent(AgentQueryId),
}

impl ProbeEngine {
    /// One that does not run yet.
    pub(super) fn new(
        mailbox: Arc<ProbeMailbox>,
        observations: Receiver<ConnectObservation>,
        reports: Sender<ProberReport>,
        judges: HealthCheckers,
        agents: AgentPoller,
        events: EventLog,
        at_once: usize,
    ) -> io::Result<ProbeEngine> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poll, mailbox.event_fd(), EventData::new_u64(MAILBOX_TOKEN), EventFlags::IN)?;
        Ok(ProbeEngine {
            poll,
            mailbox,
            observations,
            reports,
            pending_reports: BTreeMap::new(),
            runtime: Handle::current(),
            checkers: judges,
            agents,
            events,
            tls: ProbeTlsCache::default(),
            rng: Rng::new(random_seed()),
            running: RunningProbes::default(),
            programs: 0,
            orphan_markers: Vec::new(),
            last_orphan_sweep: MonotonicTime::default(),
            max_concurrent: at_once,
            origin: Instant::now(),
            buffer: vec![0; BUFFER],
        })
    }

    /// Probes until the mailbox is closed.
    ///
    /// # Errors
    /// epoll_wait(2) failed.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        while !self.mailbox.is_closed() {
            self.expire_probes();
            self.start_due();
            self.hand_over();
            self.kill_orphans();
            let wait = self.wait();
            let timeout = Timespec {
                tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(wait.subsec_nanos()),
            };
            events.clear();
            let room = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.poll, room, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    MAILBOX_TOKEN => self.handle_mail(),
                    token => self.handle_ready(token),
                }
            }
        }
        kill_marked(&self.orphan_markers);
        Ok(())
    }

    fn now(&self) -> MonotonicTime {
        MonotonicTime::default() + self.origin.elapsed()
    }

    /// Until something is due, rounded up to the next turn.
    fn wait(&mut self) -> Duration {
        let full = self.running.len() >= self.max_concurrent;
        let due = if full { None } else { self.checkers.next_due() };
        let asks = if full { None } else { self.agents.next_due() };
        let late = self.running.next_deadline();
        let retry_at = (!self.pending_reports.is_empty()).then(|| self.now() + RETRY_INTERVAL);
        let at =
            [due, asks, late, retry_at].into_iter().flatten().min().unwrap_or(MonotonicTime::NEVER);
        let turn = TURN.as_nanos() as u64;
        let at = MonotonicTime(at.0.div_ceil(turn).saturating_mul(turn));
        at.since(self.now()).min(IDLE)
    }

    fn start_due(&mut self) {
        while self.running.len() + self.programs < self.max_concurrent {
            let now = self.now();
            let Some(DueServerProbe { ticket, target }) = self.checkers.take_due(now) else {
                break;
            };
            let of = ProbePurpose::Probe(ticket);
            if let Some(outcome) = self.start(of, &target, now) {
                self.finished(of, outcome, now);
            }
        }
        while self.running.len() + self.programs < self.max_concurrent {
            let now = self.now();
            let Some(DueAgent { query, update }) = self.agents.take_due(now) else { return };
            self.apply_agent_update(update);
            let Some(DueAgentQuery { id, target }) = query else { continue };
            let of = ProbePurpose::Agent(id);
            if let Some(outcome) = self.start(of, &target, now) {
                self.finished(of, outcome, now);
            }
        }
    }

    /// Begins a probe; its outcome, if that is known already.
    fn start(
        &mut self,
        of: ProbePurpose,
        target: &ProbeTarget,
        now: MonotonicTime,
    ) -> Option<ProbeOutcome> {
        let plan = &target.plan.plan;
        let carrier = plan.transport();
        if carrier == ProbeTransport::Program {
            return self.run_program(of, target);
        }
        let secret = match plan.secret_path().map(|path| self.tls.read_secret(path)).transpose() {
            Ok(secret) => secret,
            Err(why) => return Some(ProbeOutcome::NotMade(format!("cannot probe: {why}"))),
        };
        let tls = match &target.plan.tls {
            None => None,
            Some(tls) => {
                let config = self.tls.client_config(tls, plan.alpn());
                let config = match config {
                    Ok(config) => config,
                    Err(why) => return Some(ProbeOutcome::NotMade(format!("cannot probe: {why}"))),
                };
                match new_tls_connection(config, target) {
                    Ok(tls) => Some(tls),
                    Err(outcome) => return Some(outcome),
                }
            }
        };
        let context = ProbeContext {
            address: target.datagram_address(),
            host: &target.host,
            secret: secret.as_deref(),
            random: self.rng.next(),
        };
        let mut flight =
            match RunningProbe::start(target, carrier, plan.start_dialogue(&context), tls) {
                Ok(flight) => flight,
                Err(outcome) => return Some(outcome),
            };
        if let Some(outcome) = flight.advance(&mut self.buffer) {
            return Some(outcome);
        }
        self.add_running(of, flight, now, now + target.timeout)
    }

    /// Holds a probe until its socket is ready or its deadline has passed.
    fn add_running(
        &mut self,
        of: ProbePurpose,
        flight: RunningProbe,
        began: MonotonicTime,
        end: MonotonicTime,
    ) -> Option<ProbeOutcome> {
        let interest = flight.interest();
        let token = self
            .running
            .insert(ProbeSlot { purpose: of, started_at: began, probe: flight, interest }, end);
        let active = self.running.get(token)?;
        let added =
            epoll::add(&self.poll, active.probe.socket(), EventData::new_u64(token), interest);
        if let Err(error) = added {
            self.running.remove(token);
            return Some(ProbeOutcome::NotMade(format!("cannot probe: {error}")));
        }
        None
    }

    fn handle_ready(&mut self, token: u64) {
        let Some(active) = self.running.get(token) else { return };
        if let Some(outcome) = active.probe.advance(&mut self.buffer) {
            return self.remove_running(token, outcome);
        }
        let interest = active.probe.interest();
        if interest != active.interest {
            active.interest = interest;
            let socket = active.probe.socket();
            // If this fails, the probe ends at its deadline.
            let _ = epoll::modify(&self.poll, socket, EventData::new_u64(token), interest);
        }
    }

    fn expire_probes(&mut self) {
        let now = self.now();
        while let Some(token) = self.running.first_expired(now) {
            if let Some(outcome) = self.running.get(token).map(|active| active.probe.time_out()) {
                self.remove_running(token, outcome);
            }
        }
    }

    fn remove_running(&mut self, token: u64, outcome: ProbeOutcome) {
        // Closing its socket takes it out of the epoll.
        if let Some(ProbeSlot { purpose: of, started_at: began, .. }) = self.running.remove(token) {
            self.finished(of, outcome, began);
        }
    }

    fn finished(&mut self, of: ProbePurpose, outcome: ProbeOutcome, began: MonotonicTime) {
        let now = self.now();
        match of {
            ProbePurpose::Probe(ticket) => {
                let at = SystemTime::now();
                let verdict = self.checkers.handle_outcome(ticket, outcome, began, now, at);
                self.report(verdict);
            }
            ProbePurpose::Agent(question) => {
                let news = self.agents.handle_answer(question, outcome, now);
                self.apply_agent_update(news);
            }
        }
    }

    fn run_program(&mut self, of: ProbePurpose, target: &ProbeTarget) -> Option<ProbeOutcome> {
        let ProbePurpose::Probe(ticket) = of else { return None };
        let program = target.plan.plan.program().cloned()?;
        if self.programs >= program_probe::MAX_PROGRAMS {
            let why = format!("{} programs that probe are running already", self.programs);
            return Some(ProbeOutcome::NotMade(why));
        }
        self.programs += 1;
        let mailbox = Arc::clone(&self.mailbox);
        let target = target.clone();
        let draw = self.rng.next();
        let began = self.now();
        self.runtime.spawn(async move {
            let outcome = program_probe::run_program(&program, &target, draw).await;
            mailbox.program_finished(FinishedProgram {
                ticket,
                outcome,
                started_at: began,
                marker: program_probe::run_marker(draw),
            });
        });
        None
    }

    fn handle_mail(&mut self) {
        self.mailbox.drain_event_fd();
        while let Ok(letter) = self.observations.try_recv() {
            let (now, at) = (self.now(), SystemTime::now());
            let verdict = self.checkers.handle_observation(letter, now, at);
            self.report(verdict);
        }
        for FinishedProgram { ticket, outcome, started_at: began, marker: mark } in
            self.mailbox.take_finished()
        {
            self.programs -= 1;
            self.orphan_markers.push(mark);
            self.finished(ProbePurpose::Probe(ticket), outcome, began);
        }
        if let Some(snapshot) = self.mailbox.take_state() {
            self.tls.clear();
            self.checkers.update_servers(&snapshot, self.now(), SystemTime::now());
            for report in self.agents.update_servers(&snapshot, self.now()) {
                self.apply_agent_update(AgentUpdate { report: Some(report), warning: None });
            }
        }
    }

    /// Kills processes that programs left behind.
    fn kill_orphans(&mut self) {
        let now = self.now();
        if self.orphan_markers.is_empty() || now.since(self.last_orphan_sweep) < SWEEP_INTERVAL {
            return;
        }
        let marks = std::mem::take(&mut self.orphan_markers);
        self.last_orphan_sweep = now;
        self.runtime.spawn_blocking(move || kill_marked(&marks));
    }

    fn report(&mut self, verdict: Option<HealthReport>) {
        if let Some(verdict) = verdict {
            self.queue_report(ProberReport::Health(verdict));
        }
    }

    fn queue_report(&mut self, report: ProberReport) {
        // One that waits is older: the newest alone is true.
        self.pending_reports.insert(report.key(), report);
    }

    fn apply_agent_update(&mut self, news: AgentUpdate) {
        if let Some(report) = news.report {
            self.queue_report(ProberReport::Agent(report));
        }
        if let Some(AgentWarning { kind, text }) = news.warning {
            self.events.warn(kind, text);
        }
    }

    /// Sends reports to control as far as the queue has room.
    fn hand_over(&mut self) {
        while let Some((_, report)) = self.pending_reports.pop_first() {
            match self.reports.try_send(report) {
                Ok(()) => {}
                Err(TrySendError::Full(report)) => return self.queue_report(report),
                Err(TrySendError::Closed(_)) => return,
            }
        }
    }
}
