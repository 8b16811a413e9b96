//! The handle by which everyone in the daemon asks for changes and looks at what is in force.
//!
//! Cheap to clone. Orders go to one task (`actor`) that carries them out one after the other; looking costs an
//! atomic load and disturbs nobody. It decides nothing itself.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use model::config::tree::says_nothing;
use model::id::ServerId;
use tokio::sync::{mpsc, oneshot, watch};

use super::order::{
    AgentWord, Applied, ApplyError, Change, Generation, Gone, Leave, Patch, Planned, Resolution,
    RollbackError, Verdict,
};
use super::origin::Origin;
use super::picture::{Ejected, Picture, ServerFacts, Share};
use super::sighting::Found;
use super::word::{Operate, Operated, ServerWord, SetServerError, UndoError, Undone};
use crate::acme::proof::Proof;
use crate::audit::Kept;
use crate::event::Events;
use crate::reconcile::memory::Memory;

/// Orders that may wait; who sends more waits.
const ORDERS: usize = 1024;

/// The daemon's handle.
#[derive(Clone, Debug)]
pub struct Control {
    orders: mpsc::Sender<Order>,
    pictures: watch::Receiver<Arc<Picture>>,
    events: Events,
}

/// One order with the way back to who asked.
#[derive(Debug)]
pub enum Order {
    /// Put a configuration in force.
    Apply(Box<Change>, oneshot::Sender<Result<Applied, ApplyError>>),
    /// Change one object.
    Patch(Box<Patch>, oneshot::Sender<Result<Applied, ApplyError>>),
    /// Say what a configuration would do: its text, its file.
    Plan(String, String, oneshot::Sender<Result<Planned, ApplyError>>),
    /// Put an older generation in force: which, whether it is saved, by whom.
    Rollback(Option<u64>, Option<bool>, Origin, oneshot::Sender<Result<Applied, RollbackError>>),
    /// List generations.
    Generations(oneshot::Sender<Vec<Generation>>),
    /// The text of a generation.
    Text(u64, oneshot::Sender<Option<String>>),
    /// An order about a server.
    Operate(Box<Operate>, oneshot::Sender<Result<Operated, SetServerError>>),
    /// Take an order back: its number in the record, who asks.
    Undo(Option<u64>, Origin, oneshot::Sender<Result<Undone, UndoError>>),
    /// The record of orders, from this moment (Unix milliseconds) on.
    Audit(u64, oneshot::Sender<Kept>),
    /// What a source of servers said.
    Found(Found),
    /// Time has passed.
    Tick,
    /// The last clients of these servers have gone.
    Emptied(Vec<ServerId>),
    /// What probes found out.
    Verdict(Verdict),
    /// What an agent says.
    Agent(AgentWord),
    /// What the resolver found out.
    Resolution(Resolution),
    /// Look whether files of certificates have changed.
    LookAtCertificates,
    /// Have something ready for the authority of the order of this name, or nothing any more; answered when workers show
    /// it.
    Prove(String, Option<Proof>, oneshot::Sender<()>),
    /// What the judge and slow start make of weights.
    Shares(Vec<(ServerId, Option<Share>)>),
    /// Servers that are put out for what they answer, or come back.
    Ejected(Vec<(ServerId, Option<Ejected>)>),
    /// Hand everything to the process that takes over.
    HandOver(oneshot::Sender<Result<Handed, ApplyError>>),
    /// It has given up: go on as before.
    TakeBack,
    /// Begin to leave; answered, with the limit, when no new connection is accepted any more.
    Leave(Leave, oneshot::Sender<Duration>),
}

/// What the process that takes over starts with.
#[derive(Debug)]
pub struct Handed {
    /// The generation in force.
    pub generation: u64,
    /// Its text.
    pub text: Arc<str>,
    /// The file that the text came from.
    pub file: Arc<str>,
    /// Who put it in force.
    pub origin: Origin,
    /// What is remembered of servers.
    pub memory: Memory,
    /// Listening sockets with the addresses that they were configured with.
    pub sockets: Vec<(SocketAddr, OwnedFd)>,
}

impl Control {
    /// A handle, and the orders and the place for pictures that the actor serves.
    pub fn new(
        first: Arc<Picture>,
        events: Events,
    ) -> (Control, mpsc::Receiver<Order>, watch::Sender<Arc<Picture>>) {
        let (orders, inbox) = mpsc::channel(ORDERS);
        let (publish, pictures) = watch::channel(first);
        (Control { orders, pictures, events }, inbox, publish)
    }

    /// What is in force now.
    pub fn picture(&self) -> Arc<Picture> {
        self.pictures.borrow().clone()
    }

    /// Whether a text, put in force, would end everything without saying so: it says nothing, and what is in force does.
    pub fn is_emptied_by(&self, text: &str) -> bool {
        says_nothing(text) && !says_nothing(&self.picture().text)
    }

    /// Follows what is in force; several changes in a row may be seen as one.
    pub fn watch(&self) -> watch::Receiver<Arc<Picture>> {
        self.pictures.clone()
    }

    /// The daemon's own events: to add one, to follow them, to read the last ones.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Puts a configuration in force, wholly or not at all.
    ///
    /// # Errors
    /// Mistakes in the text, a listener that cannot be opened, a change made meanwhile. Nothing has changed then.
    pub async fn apply(&self, change: Change) -> Result<Applied, ApplyError> {
        self.ask(|back| Order::Apply(Box::new(change), back)).await?
    }

    /// Changes one object of the configuration that is in force when it is its turn, wholly or not at all.
    ///
    /// # Errors
    /// As `apply`, and when there is no such object.
    pub async fn patch(&self, patch: Patch) -> Result<Applied, ApplyError> {
        self.ask(|back| Order::Patch(Box::new(patch), back)).await?
    }

    /// Says what a configuration would do; changes nothing. `Ok(Err(_))`: its mistakes.
    ///
    /// # Errors
    /// The daemon is stopping.
    pub async fn plan(
        &self,
        text: String,
        file: String,
    ) -> Result<Result<Planned, ApplyError>, Gone> {
        self.ask(|back| Order::Plan(text, file, back)).await
    }

    /// Puts an older generation's text in force, as a new generation; `None`: the one before the present.
    ///
    /// # Errors
    /// As `apply`, and when no such generation is kept.
    pub async fn rollback(
        &self,
        to: Option<u64>,
        save: Option<bool>,
        origin: Origin,
    ) -> Result<Applied, RollbackError> {
        self.ask(|back| Order::Rollback(to, save, origin, back)).await.map_err(ApplyError::from)?
    }

    /// The generations kept, oldest first.
    ///
    /// # Errors
    /// The daemon is stopping.
    pub async fn generations(&self) -> Result<Vec<Generation>, Gone> {
        self.ask(Order::Generations).await
    }

    /// The text of a kept generation; `None`: it is not kept.
    ///
    /// # Errors
    /// The daemon is stopping.
    pub async fn generation_text(&self, number: u64) -> Result<Option<String>, Gone> {
        self.ask(|back| Order::Text(number, back)).await
    }

    /// Gives an operator's word for a server; it stands until the file's own word changes.
    ///
    /// # Errors
    /// No such server, or the daemon is stopping.
    pub async fn set_server(
        &self,
        pool: &str,
        name: &str,
        word: ServerWord,
        origin: Origin,
    ) -> Result<Arc<ServerFacts>, SetServerError> {
        let (pool, name) = (pool.to_owned(), name.to_owned());
        let order = Operate { pool, name, word, save: Some(false), origin };
        Ok(self.operate(order).await?.facts)
    }

    /// Carries out an order about a server; it stands until the file's own word changes.
    ///
    /// # Errors
    /// See `SetServerError`.
    pub async fn operate(&self, order: Operate) -> Result<Operated, SetServerError> {
        self.ask(|back| Order::Operate(Box::new(order), back)).await?
    }

    /// Takes an order back; `None`: the latest that can be.
    ///
    /// # Errors
    /// See `UndoError`.
    pub async fn undo(&self, id: Option<u64>, origin: Origin) -> Result<Undone, UndoError> {
        self.ask(|back| Order::Undo(id, origin, back)).await?
    }

    /// The record of orders, from this moment (Unix milliseconds) on.
    ///
    /// # Errors
    /// The daemon is stopping.
    pub async fn audit(&self, since_unix_ms: u64) -> Result<Kept, Gone> {
        self.ask(|back| Order::Audit(since_unix_ms, back)).await
    }

    /// Tells what a source of servers said.
    pub async fn found(&self, found: Found) {
        let _ = self.orders.send(Order::Found(found)).await;
    }

    /// Says that time has passed: windows open and close, limits end.
    pub async fn tick(&self) {
        let _ = self.orders.send(Order::Tick).await;
    }

    /// Says that the last clients of quiesced servers have gone.
    pub async fn emptied(&self, servers: Vec<ServerId>) {
        let _ = self.orders.send(Order::Emptied(servers)).await;
    }

    /// Reports a judgement; waits only while very many orders are waiting. Of a server that is gone it is ignored.
    pub async fn verdict(&self, verdict: Verdict) {
        // A daemon on its way out has no use for it.
        let _ = self.orders.send(Order::Verdict(verdict)).await;
    }

    /// Reports what a server's agent says; waits and is ignored like a verdict.
    pub async fn agent(&self, word: AgentWord) {
        let _ = self.orders.send(Order::Agent(word)).await;
    }

    /// Reports where a server's name leads; waits and is ignored like a verdict.
    pub async fn resolved(&self, resolution: Resolution) {
        let _ = self.orders.send(Order::Resolution(resolution)).await;
    }

    /// Has the files of certificates looked at; what changed is told as events.
    pub async fn look_at_certificates(&self) {
        let _ = self.orders.send(Order::LookAtCertificates).await;
    }

    /// Has something ready for the authority of the order of this name, or nothing any more; returns when workers show
    /// it.
    pub async fn prove(&self, key: String, proof: Option<Proof>) {
        // A daemon on its way out shows nothing.
        let _ = self.ask(|back| Order::Prove(key, proof, back)).await;
    }

    /// Hands everything to the process that takes over; until `take_back` or `leave` nothing is changed any more.
    ///
    /// # Errors
    /// Another one is taking over, or the daemon is stopping.
    pub async fn hand_over(&self) -> Result<Handed, ApplyError> {
        self.ask(Order::HandOver).await?
    }

    /// The process that was taking over has given up: changes are possible again.
    pub async fn take_back(&self) {
        let _ = self.orders.send(Order::TakeBack).await;
    }

    /// Gives servers other shares of the work; servers that are gone are passed over.
    pub async fn shares(&self, shares: Vec<(ServerId, Option<Share>)>) {
        let _ = self.orders.send(Order::Shares(shares)).await;
    }

    /// Puts servers out for what they answer, or lets them come back; servers that are gone are passed over.
    pub async fn ejected(&self, words: Vec<(ServerId, Option<Ejected>)>) {
        let _ = self.orders.send(Order::Ejected(words)).await;
    }

    /// Begins to leave; returns when no new connection is accepted any more, with how long exchanges may finish.
    /// The caller waits for them.
    ///
    /// # Errors
    /// The daemon is stopping already.
    pub async fn leave(&self, how: Leave) -> Result<Duration, Gone> {
        self.ask(|back| Order::Leave(how, back)).await
    }

    async fn ask<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> Result<T, Gone> {
        let (back, answer) = oneshot::channel();
        self.orders.send(order(back)).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }
}
