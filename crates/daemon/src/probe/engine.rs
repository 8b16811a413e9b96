//! The thread that probes: one epoll, one heap of deadlines, as many probes under way as descriptors allow.
//!
//! Moments that fall close together are served in one turn, so that thousands of probes a second cost few wake-ups.
//! When and what is probed, and what a result means, `judges` says.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant, SystemTime};

use ::probe::context::Context;
use ::probe::plan::Carrier;
use model::id::ServerId;
use model::moment::Moment;
use model::pick::Rng;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::time::Timespec;
use tokio::runtime::Handle;
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

use super::agents::{Agents, News, Question};
use super::flight::{Flight, secured};
use super::flights::{Active, Flights};
use super::judges::{Judges, Observed, Ticket};
use super::mail::{Mailbox, Ran};
use super::program;
use super::secure::Secure;
use super::seed::seed;
use super::target::{Outcome, Target};
use crate::control::{AgentWord, Verdict};
use crate::event::Events;
use crate::offspring::sweep;

/// Moments are rounded up to a multiple of this: what is due within it is done in one turn.
const TURN: Duration = Duration::from_millis(4);
/// Events taken from the kernel at a time.
const EVENTS: usize = 512;
/// Bytes read at a time.
const BUFFER: usize = 16 * 1024;
/// The token of the mailbox.
const MAIL: u64 = u64::MAX;
/// Between two tries to hand over verdicts that could not be.
const AGAIN: Duration = Duration::from_millis(20);
/// Between two looks for what programs left behind.
const SWEEP: Duration = Duration::from_secs(1);
/// While nothing else is to be done.
const IDLE: Duration = Duration::from_secs(5);

/// What is found out, on its way to `Control`.
#[derive(Debug)]
pub(super) enum Found {
    /// Of a server's health.
    Verdict(Verdict),
    /// What an agent wants.
    Agent(AgentWord),
}

/// Everything the thread has.
pub(super) struct Engine {
    poll: OwnedFd,
    mailbox: Arc<Mailbox>,
    letters: Receiver<Observed>,
    found: Sender<Found>,
    /// The newest of each server that could not be handed over: verdicts, and agents' words.
    waiting: BTreeMap<(ServerId, bool), Found>,
    runtime: Handle,
    judges: Judges,
    agents: Agents,
    events: Events,
    secure: Secure,
    rng: Rng,
    flights: Flights<Of>,
    programs: usize,
    /// Marks of programs that have ended and may have left something behind, and when that was looked for last.
    marks: (Vec<String>, Moment),
    at_once: usize,
    origin: Instant,
    buffer: Vec<u8>,
}

/// Whose a flight is.
#[derive(Clone, Copy)]
enum Of {
    Probe(Ticket),
    Agent(Question),
}

impl Engine {
    /// One that does not run yet.
    pub(super) fn new(
        mailbox: Arc<Mailbox>,
        letters: Receiver<Observed>,
        found: Sender<Found>,
        (judges, agents): (Judges, Agents),
        events: Events,
        at_once: usize,
    ) -> io::Result<Engine> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poll, mailbox.bell(), EventData::new_u64(MAIL), EventFlags::IN)?;
        Ok(Engine {
            poll,
            mailbox,
            letters,
            found,
            waiting: BTreeMap::new(),
            runtime: Handle::current(),
            judges,
            agents,
            events,
            secure: Secure::default(),
            rng: Rng::new(seed()),
            flights: Flights::default(),
            programs: 0,
            marks: Default::default(),
            at_once,
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
            self.expire();
            self.start_due();
            self.hand_over();
            self.sweep();
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
                    MAIL => self.read_mail(),
                    token => self.ready(token),
                }
            }
        }
        sweep(&self.marks.0);
        Ok(())
    }

    fn now(&self) -> Moment {
        Moment::default() + self.origin.elapsed()
    }

    /// Until something is due, rounded up to the next turn.
    fn wait(&mut self) -> Duration {
        let full = self.flights.len() >= self.at_once;
        let due = if full { None } else { self.judges.earliest() };
        let asks = if full { None } else { self.agents.earliest() };
        let late = self.flights.earliest();
        let again = (!self.waiting.is_empty()).then(|| self.now() + AGAIN);
        let at = [due, asks, late, again].into_iter().flatten().min().unwrap_or(Moment::NEVER);
        let turn = TURN.as_nanos() as u64;
        let at = Moment(at.0.div_ceil(turn).saturating_mul(turn));
        at.since(self.now()).min(IDLE)
    }

    fn start_due(&mut self) {
        while self.flights.len() + self.programs < self.at_once {
            let now = self.now();
            let Some((ticket, target)) = self.judges.due(now) else { break };
            let of = Of::Probe(ticket);
            if let Some(outcome) = self.start(of, &target, now) {
                self.finished(of, outcome, now);
            }
        }
        while self.flights.len() + self.programs < self.at_once {
            let now = self.now();
            let Some((question, news)) = self.agents.due(now) else { return };
            self.tell(news);
            let Some((question, target)) = question else { continue };
            let of = Of::Agent(question);
            if let Some(outcome) = self.start(of, &target, now) {
                self.finished(of, outcome, now);
            }
        }
    }

    /// Begins a probe; its outcome, if that is known already.
    fn start(&mut self, of: Of, target: &Target, now: Moment) -> Option<Outcome> {
        let plan = &target.prepared.plan;
        let carrier = plan.carrier();
        if carrier == Carrier::Program {
            return self.run_program(of, target);
        }
        let secret = match plan.secret().map(|path| self.secure.secret(path)).transpose() {
            Ok(secret) => secret,
            Err(why) => return Some(Outcome::Ours(format!("cannot probe: {why}"))),
        };
        let tls = match &target.prepared.tls {
            None => None,
            Some(tls) => {
                let config = self.secure.tls(tls, plan.alpn());
                let config = match config {
                    Ok(config) => config,
                    Err(why) => return Some(Outcome::Ours(format!("cannot probe: {why}"))),
                };
                match secured(config, target) {
                    Ok(tls) => Some(tls),
                    Err(outcome) => return Some(outcome),
                }
            }
        };
        let context = Context {
            address: target.address,
            host: &target.host,
            secret: secret.as_deref(),
            draw: self.rng.next(),
        };
        let mut flight = match Flight::begin(target, carrier, plan.begin(&context), tls) {
            Ok(flight) => flight,
            Err(outcome) => return Some(outcome),
        };
        if let Some(outcome) = flight.advance(&mut self.buffer) {
            return Some(outcome);
        }
        self.watch(of, flight, now, now + target.timeout)
    }

    /// Keeps a flight until its socket is ready or its time is up.
    fn watch(&mut self, of: Of, flight: Flight, began: Moment, end: Moment) -> Option<Outcome> {
        let interest = flight.interest();
        let token = self.flights.insert(Active { of, began, flight, interest }, end);
        let active = self.flights.get(token)?;
        let added =
            epoll::add(&self.poll, active.flight.socket(), EventData::new_u64(token), interest);
        if let Err(error) = added {
            self.flights.remove(token);
            return Some(Outcome::Ours(format!("cannot probe: {error}")));
        }
        None
    }

    fn ready(&mut self, token: u64) {
        let Some(active) = self.flights.get(token) else { return };
        if let Some(outcome) = active.flight.advance(&mut self.buffer) {
            return self.end(token, outcome);
        }
        let interest = active.flight.interest();
        if interest != active.interest {
            active.interest = interest;
            let socket = active.flight.socket();
            // One that is not watched any more ends at its deadline.
            let _ = epoll::modify(&self.poll, socket, EventData::new_u64(token), interest);
        }
    }

    fn expire(&mut self) {
        let now = self.now();
        while let Some(token) = self.flights.expired(now) {
            if let Some(outcome) = self.flights.get(token).map(|active| active.flight.late()) {
                self.end(token, outcome);
            }
        }
    }

    fn end(&mut self, token: u64, outcome: Outcome) {
        // Closing its socket takes it out of the epoll.
        if let Some(Active { of, began, .. }) = self.flights.remove(token) {
            self.finished(of, outcome, began);
        }
    }

    fn finished(&mut self, of: Of, outcome: Outcome, began: Moment) {
        let now = self.now();
        match of {
            Of::Probe(ticket) => {
                let at = SystemTime::now();
                let verdict = self.judges.finished(ticket, outcome, (began, now), at);
                self.report(verdict);
            }
            Of::Agent(question) => {
                let news = self.agents.finished(question, outcome, now);
                self.tell(news);
            }
        }
    }

    fn run_program(&mut self, of: Of, target: &Target) -> Option<Outcome> {
        let Of::Probe(ticket) = of else { return None };
        let program = target.prepared.plan.program().cloned()?;
        if self.programs >= program::AT_ONCE {
            let why = format!("{} programs that probe are running already", self.programs);
            return Some(Outcome::Ours(why));
        }
        self.programs += 1;
        let (mailbox, target, draw) = (Arc::clone(&self.mailbox), target.clone(), self.rng.next());
        let began = self.now();
        self.runtime.spawn(async move {
            let outcome = program::run(&program, &target, draw).await;
            mailbox.ended(Ran { ticket, outcome, began, mark: program::mark(draw) });
        });
        None
    }

    fn read_mail(&mut self) {
        self.mailbox.quiet();
        while let Ok(letter) = self.letters.try_recv() {
            let (now, at) = (self.now(), SystemTime::now());
            let verdict = self.judges.observed(letter, now, at);
            self.report(verdict);
        }
        for Ran { ticket, outcome, began, mark } in self.mailbox.take_ended() {
            self.programs -= 1;
            self.marks.0.push(mark);
            self.finished(Of::Probe(ticket), outcome, began);
        }
        if let Some(picture) = self.mailbox.picture() {
            self.secure.clear();
            self.judges.adopt(&picture, self.now(), SystemTime::now());
            for word in self.agents.adopt(&picture, self.now()) {
                self.tell(News { word: Some(word), event: None });
            }
        }
    }

    /// Now and then: ends what programs left behind where nobody saw it.
    fn sweep(&mut self) {
        let now = self.now();
        if self.marks.0.is_empty() || now.since(self.marks.1) < SWEEP {
            return;
        }
        let marks = std::mem::take(&mut self.marks.0);
        self.marks.1 = now;
        self.runtime.spawn_blocking(move || sweep(&marks));
    }

    fn report(&mut self, verdict: Option<Verdict>) {
        let Some(verdict) = verdict else { return };
        // One that waits is older: the newest alone is true.
        self.waiting.insert((verdict.server, false), Found::Verdict(verdict));
    }

    fn tell(&mut self, news: News) {
        if let Some(word) = news.word {
            self.waiting.insert((word.server, true), Found::Agent(word));
        }
        if let Some((what, text)) = news.event {
            self.events.warn(what, text);
        }
    }

    /// Hands verdicts over as far as they are taken.
    fn hand_over(&mut self) {
        while let Some((server, found)) = self.waiting.pop_first() {
            match self.found.try_send(found) {
                Ok(()) => {}
                Err(TrySendError::Full(found)) => {
                    self.waiting.insert(server, found);
                    return;
                }
                Err(TrySendError::Closed(_)) => return,
            }
        }
    }
}
