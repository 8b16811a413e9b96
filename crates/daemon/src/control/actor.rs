//! The one task that changes anything: takes orders one after the other, keeps the state, publishes pictures.
//!
//! What follows from a change is `reconcile`'s; this file says in which order it is asked and what is told to whom.

mod failed;
mod hand;
mod learn;
mod renew;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::config::{Diff, diff, load};
use model::id::ServerId;
use tokio::sync::{mpsc, watch};

use super::fallen;
use super::force::{Force, needs_restart};
use super::handle::{Control, Order};
use super::keeping::Keeping;
use super::order::{Applied, ApplyError, Change, Leave, Planned, RollbackError};
use super::origin::{Origin, Way};
use super::picture::{Picture, ServerFacts};
use super::reach::Reached;
use super::tell;
use super::words::Words;
use crate::acme::proof::Proof;
use crate::audit::Audit;
use crate::event::Events;
use crate::generations::{Entry, Generations, digest};
use crate::listeners::Listeners;
use crate::reconcile::act;
use crate::reconcile::book::Book;
use crate::reconcile::engine::Engine;
use crate::reconcile::memory::Memory;
use crate::reconcile::overlay::Overlay;
use crate::reconcile::secure::secured;
use crate::reconcile::step;
use crate::tls::vault::{Prepared, Vault};
use crate::wall_clock::WallClock;

/// What the actor works with.
pub struct Parts {
    /// What carries the traffic.
    pub engine: Arc<dyn Engine>,
    /// The listening sockets, with those inherited.
    pub listeners: Listeners,
    /// Worker threads.
    pub workers: usize,
    /// Where generations and words are kept; `None`: nowhere.
    pub state: Option<PathBuf>,
    /// The file that orders are written back to; `None`: there is none.
    pub file: Option<PathBuf>,
    /// What the process before remembered, and its generation; `None`: there was none.
    pub before: Option<(u64, Memory)>,
    /// What the daemon says.
    pub events: Events,
}

/// The task.
pub struct Actor {
    pub(super) engine: Arc<dyn Engine>,
    listeners: Listeners,
    pub(super) book: Book,
    pub(super) generations: Generations,
    pub(super) words: Words,
    pub(super) events: Events,
    pub(super) force: Force,
    vault: Vault,
    proofs: BTreeMap<String, Proof>,
    pub(super) overlay: Overlay,
    pub(super) audit: Audit,
    pub(super) sources: BTreeMap<String, String>,
    pub(super) keeping: Keeping,
    pub(super) clock: WallClock,
    pub(super) reached: Reached,
    publish: watch::Sender<Arc<Picture>>,
    inbox: mpsc::Receiver<Order>,
    pub(super) handing: bool,
    leaving: bool,
}

impl Actor {
    /// Puts the first configuration in force.
    ///
    /// # Errors
    /// As `Control::apply`; everything that was opened is closed again.
    pub async fn begin(parts: Parts, change: Change) -> Result<(Control, Actor), ApplyError> {
        let Parts { engine, mut listeners, workers, state, file, before, events } = parts;
        let checked = load(&change.text, &change.file).map_err(ApplyError::Invalid)?;
        let control = &checked.config.global.control;
        let mut generations =
            Generations::open(state.as_deref(), control.generations, events.clone());
        let words = Words::open(state.as_deref(), events.clone());
        before.as_ref().map_or_else(|| crate::pins::refuse_foreign(&checked.config), |_| Ok(()))?;
        let (at_least, memory) = before.unwrap_or_else(|| (0, words.memory().clone()));
        generations.at_least(at_least);
        let audit = Audit::open(state.as_deref(), control.audit, events.clone());
        let overlay = memory.overlay.under(&checked);
        let now = SystemTime::now();
        let number = generations.number_for(&change.text).max(at_least).max(1);
        let empty = Book::empty(workers);
        let prepared = Vault::in_state(state.clone()).prepare(&checked.config, now)?;
        let Prepared { mut vault, warnings, .. } = prepared;
        let book = secured(empty.under(overlay.over(&checked), &memory, now), &vault.materials());
        let done = act::carry_out(&*engine, &mut listeners, &empty, book, number).await?;
        let reached = Reached::first(&checked);
        generations.add(number, &entry(&change, None), now);
        tell::files(&events, &warnings, &mut vault.cookies.doubts);
        let config = done.book.config.clone().unwrap_or_else(|| Arc::new(checked.config.clone()));
        let force = Force {
            generation: number,
            since: now,
            started: now,
            digest: digest(&change.text),
            origin: change.origin,
            text: change.text.into(),
            file: change.file.into(),
            checked: Arc::new(checked),
            first: Arc::clone(&config),
            config,
            snapshot: done.snapshot,
            certificates: Arc::new(vault.told()),
        };
        let book = done.book;
        let failures = generations.failed() + words.failures() + audit.failures();
        let first = force.picture(&book, &listeners, failures, false);
        let (control, inbox, publish) = Control::new(Arc::new(first), events.clone());
        let base = change.base;
        let mut actor = Actor {
            engine,
            listeners,
            book,
            generations,
            words,
            events,
            force,
            vault,
            proofs: BTreeMap::new(),
            overlay,
            audit,
            sources: BTreeMap::new(),
            keeping: Keeping::new(file, state, None),
            clock: WallClock::new(now, crate::vrrp::now()),
            reached,
            publish,
            inbox,
            handing: false,
            leaving: false,
        };
        actor.taken_from_file(base);
        actor.after_change(done.confirmed);
        actor.tick();
        Ok((control, actor))
    }

    /// Carries orders out until nobody can give any, or the daemon has left.
    pub async fn run(mut self) {
        while let Some(order) = self.inbox.recv().await {
            let before = self.book.clone();
            let mut lost: Vec<_> = fallen::falls(&order).into_iter().collect();
            let mut next = self.learn(order);
            // What probes and the resolver found out meanwhile goes into one snapshot.
            while next.is_none()
                && let Ok(order) = self.inbox.try_recv()
            {
                lost.extend(fallen::falls(&order));
                next = self.learn(order);
            }
            self.show(&before);
            fallen::cut(&*self.engine, &self.events, &lost, (&before, &self.book));
            if let Some(order) = next {
                self.carry_out(order).await;
            }
        }
    }

    async fn carry_out(&mut self, order: Order) {
        // Whoever asked may have gone away: the answer is then for nobody.
        match order {
            Order::Apply(change, back) => drop(back.send(self.ordered(*change).await)),
            Order::Patch(patch, back) => drop(back.send(self.patched(*patch).await)),
            Order::Plan(text, file, back) => drop(back.send(self.plan(&text, &file))),
            Order::Rollback(to, save, origin, back) => {
                drop(back.send(self.rolled_back(to, save, origin).await));
            }
            Order::Generations(back) => drop(back.send(self.generations.list())),
            Order::Text(number, back) => {
                drop(back.send(self.generations.find(number).map(|kept| kept.text.clone())));
            }
            Order::Operate(order, back) => drop(back.send(self.operate(*order).await)),
            Order::Undo(id, origin, back) => drop(back.send(self.undo(id, origin).await)),
            Order::Audit(since, back) => drop(back.send(self.audit.kept(since))),
            Order::Found(found) => self.found(found).await,
            Order::Tick => self.tick(),
            Order::Emptied(servers) => self.emptied(&servers),
            Order::HandOver(back) => drop(back.send(self.hand_over())),
            Order::LookAtCertificates => self.renew(),
            Order::Prove(key, proof, back) => {
                self.prove(&key, proof).await;
                let _ = back.send(());
            }
            Order::TakeBack => self.handing = false,
            Order::Leave(how, back) => drop(back.send(self.leave(how))),
            Order::Verdict(_)
            | Order::Agent(_)
            | Order::Resolution(_)
            | Order::Shares(_)
            | Order::Ejected(_) => {}
        }
    }

    pub(super) async fn apply(
        &mut self,
        change: Change,
        repeats: Option<u64>,
    ) -> Result<Applied, ApplyError> {
        self.may_change()?;
        if let Some(expected) = change.expect.filter(|wanted| *wanted != self.force.generation) {
            return Err(ApplyError::Stale { expected, found: self.force.generation });
        }
        let checked = load(&change.text, &change.file).map_err(ApplyError::Invalid)?;
        self.may_reach(&change, &checked)?;
        let differs = diff(&self.force.checked.config, &checked.config);
        let warnings = checked.warnings.clone();
        if change.text == *self.force.text {
            self.renew_at_once(&checked.config)?;
            let needs_restart = needs_restart(&self.force.first, &checked.config);
            let generation = self.force.generation;
            let same = Applied { generation, warnings, needs_restart, ..Applied::default() };
            return Ok(Applied { diff: differs, confirmed: true, ..same });
        }
        let now = SystemTime::now();
        let number = self.generations.number_for(&change.text);
        let overlay = self.laid_over(&checked);
        let prepared = self.prepare(&checked.config, now)?;
        let book = self.book.under(overlay.over(&checked), &Memory::default(), now);
        let book = secured(book, &prepared.vault.materials());
        let done =
            act::carry_out(&*self.engine, &mut self.listeners, &self.book, book, number).await?;
        tell::pools(&self.events, &self.book, &done.book);
        (self.book, self.overlay) = (done.book, overlay);
        self.keep_vault(prepared);
        if let Some(config) = &self.book.config {
            self.force.config = Arc::clone(config);
        }
        self.generations.keep(self.force.config.global.control.generations);
        self.audit.limit(self.force.config.global.control.audit);
        self.generations.add(number, &entry(&change, repeats), now);
        (self.force.generation, self.force.since) = (number, now);
        self.force.digest = digest(&change.text);
        self.force.snapshot = done.snapshot;
        self.force.checked = Arc::new(checked);
        self.has_reached(change.origin.way);
        self.force.origin = change.origin;
        self.force.text = change.text.into();
        self.force.file = change.file.into();
        self.after_change(done.confirmed);
        Ok(Applied {
            generation: number,
            diff: differs,
            warnings,
            needs_restart: needs_restart(&self.force.first, &self.force.config),
            confirmed: done.confirmed,
            ..Applied::default()
        })
    }

    /// Words that ended are forgotten on disk too, everybody sees the new picture, and the events say so.
    fn after_change(&mut self, confirmed: bool) {
        self.keep_words();
        self.publish();
        tell::in_force(&self.events, &self.force, confirmed);
        tell::fewer_sockets(&self.events, &self.book, &self.listeners);
    }

    fn plan(&self, text: &str, file: &str) -> Result<Planned, ApplyError> {
        let checked = load(text, file).map_err(ApplyError::Invalid)?;
        self.prepare(&checked.config, SystemTime::now())?;
        let diff: Diff = diff(&self.force.checked.config, &checked.config);
        let needs_restart = needs_restart(&self.force.first, &checked.config);
        let config = self.laid_over(&checked).over(&checked);
        let mut book = self.book.under(config, &Memory::default(), SystemTime::now());
        let steps = step::steps(&self.book, &mut book);
        Ok(Planned {
            generation: self.force.generation,
            diff,
            warnings: checked.warnings,
            needs_restart,
            listeners: steps.iter().map(step::Step::sentence).collect(),
        })
    }

    /// A kept generation as a change; with the number that it repeats.
    pub(super) fn kept(
        &self,
        to: Option<u64>,
        origin: Origin,
    ) -> Result<(Change, u64), RollbackError> {
        let kept = match to {
            Some(number) => {
                self.generations.find(number).ok_or_else(|| RollbackError::Unknown {
                    wanted: number,
                    kept: self.generations.list().iter().map(|record| record.number).collect(),
                })?
            }
            None => self
                .generations
                .before(self.force.generation, &self.force.text)
                .ok_or(RollbackError::NonePrevious)?,
        };
        let origin = Origin { way: Way::Rollback, ..origin };
        Ok((Change::new(&*kept.text, &*kept.record.file, origin), kept.record.number))
    }

    fn leave(&mut self, how: Leave) -> Duration {
        let limit = how.limit.unwrap_or(self.force.config.global.drain);
        if how.handed {
            self.listeners.hand_on();
        }
        for (address, listener) in &self.book.listeners {
            if !how.handed {
                self.listeners.release(*address);
            }
            self.engine.unlisten(listener.id, !how.handed);
        }
        self.keep_words();
        self.engine.drain(limit);
        self.leaving = true;
        self.publish();
        limit
    }

    fn may_change(&self) -> Result<(), ApplyError> {
        if self.leaving {
            return Err(super::order::Gone.into());
        }
        if self.handing { Err(ApplyError::HandingOver) } else { Ok(()) }
    }

    pub(super) fn server(
        &mut self,
        id: ServerId,
        change: impl FnOnce(&ServerFacts) -> ServerFacts,
    ) {
        if let Some(changed) = self.book.change(id, change) {
            tell::server_state(&self.events, &changed);
        }
    }

    /// Lets workers and watchers see what changed since `before`.
    pub(super) fn show(&mut self, before: &Book) {
        if !before.looks_like(&self.book) {
            self.force.snapshot = self.book.snapshot(self.force.generation);
            self.engine.install(Arc::clone(&self.force.snapshot));
        } else if before.same_facts(&self.book) {
            return;
        }
        self.publish();
    }

    pub(super) fn publish(&mut self) {
        let failures = self.failures().iter().sum();
        let picture = self.force.picture(&self.book, &self.listeners, failures, self.leaving);
        let (sources, drift) = (self.sources.clone(), self.keeping.drift());
        let picture = Picture { sources, drift, ..picture };
        self.publish.send_replace(Arc::new(picture));
    }

    pub(super) fn keep_words(&mut self) {
        let facts = self.book.servers.values().map(|entry| &*entry.facts);
        self.words.keep(Memory::everything(facts).with(&self.overlay));
    }

    /// Puts other servers in force than those of the file; the generation stays.
    pub(super) async fn refit(&mut self, overlay: Overlay) -> Result<(), ApplyError> {
        self.may_change()?;
        let config = overlay.over(&self.force.checked);
        let book = self.book.under(config, &Memory::default(), SystemTime::now());
        let number = self.force.generation;
        let done =
            act::carry_out(&*self.engine, &mut self.listeners, &self.book, book, number).await?;
        tell::pools(&self.events, &self.book, &done.book);
        self.book = done.book;
        self.overlay = overlay;
        if let Some(config) = &self.book.config {
            self.force.config = Arc::clone(config);
        }
        self.force.snapshot = done.snapshot;
        self.keep_words();
        self.publish();
        Ok(())
    }
}

fn entry(change: &Change, repeats: Option<u64>) -> Entry<'_> {
    Entry { text: &change.text, file: &change.file, origin: &change.origin, repeats }
}
