//! The handle by which the rest of the daemon sends commands and reads the active state.
//!
//! Cheap to clone. Commands go to one task (the control actor) that carries them out one after the other; reading costs
//! an atomic load and disturbs nobody.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use model::config::toml_tree::is_blank;
use model::id::ServerId;
use tokio::sync::{mpsc, oneshot, watch};

use crate::state::acme_proof::AcmeProof;
use crate::state::change::AuditExcerpt;
use crate::state::change::{
    ApplyError, ApplyOutcome, ConfigChange, ConfigPatch, DaemonStopping, GenerationRecord,
    HealthReport, PlanOutcome, RollbackError, ServerAgentReport, ServerResolution, ShutdownRequest,
};
use crate::state::discovery_result::DiscoveryResult;
use crate::state::origin::ChangeOrigin;
use crate::state::saved_state::SavedState;
use crate::state::server_command::{
    OperatorCommand, ServerCommandError, ServerCommandOutcome, ServerCommandRequest, UndoError,
    UndoOutcome,
};
use crate::state::state_snapshot::{ServerEjection, ServerFacts, StateSnapshot, WeightShare};
use crate::util::event::EventLog;

/// Orders that may wait; who sends more waits.
const COMMANDS: usize = 1024;

#[derive(Clone, Debug)]
pub struct ControlHandle {
    commands: mpsc::Sender<ControlCommand>,
    states: watch::Receiver<Arc<StateSnapshot>>,
    events: EventLog,
}

/// One order with the way back to who asked.
#[derive(Debug)]
pub enum ControlCommand {
    /// Put a configuration in force.
    Apply(Box<ConfigChange>, oneshot::Sender<Result<ApplyOutcome, ApplyError>>),
    Patch(Box<ConfigPatch>, oneshot::Sender<Result<ApplyOutcome, ApplyError>>),
    /// Say what a configuration would do: its text, its file.
    Plan(String, String, oneshot::Sender<Result<PlanOutcome, ApplyError>>),
    /// Put an older generation in force: which, whether it is saved, by whom.
    Rollback(
        Option<u64>,
        Option<bool>,
        ChangeOrigin,
        oneshot::Sender<Result<ApplyOutcome, RollbackError>>,
    ),
    Generations(oneshot::Sender<Vec<GenerationRecord>>),
    /// The text of a generation.
    GenerationText(u64, oneshot::Sender<Option<String>>),
    /// An order about a server.
    ServerCommand(
        Box<ServerCommandRequest>,
        oneshot::Sender<Result<ServerCommandOutcome, ServerCommandError>>,
    ),
    /// Take an order back: its number in the record, who asks.
    Undo(Option<u64>, ChangeOrigin, oneshot::Sender<Result<UndoOutcome, UndoError>>),
    /// The record of orders, from this moment (Unix milliseconds) on.
    Audit(u64, oneshot::Sender<AuditExcerpt>),
    /// What a source of servers said.
    Discovery(DiscoveryResult),
    Tick,
    /// The last clients of these servers have gone.
    ClientsGone(Vec<ServerId>),
    /// What probes found out.
    HealthReport(HealthReport),
    /// What an agent says.
    Agent(ServerAgentReport),
    /// What the resolver found out.
    Resolution(ServerResolution),
    /// Look whether files of certificates have changed.
    ReloadCertificates,
    /// Have something ready for the authority of the order of this name, or nothing any more; answered when workers show
    /// it.
    PublishProof(String, Option<AcmeProof>, oneshot::Sender<()>),
    /// What the weight controller and slow start make of weights.
    WeightShares(Vec<(ServerId, Option<WeightShare>)>),
    /// Servers that are put out for what they answer, or come back.
    Ejections(Vec<(ServerId, Option<ServerEjection>)>),
    /// Hand everything to the process that takes over.
    HandOver(oneshot::Sender<Result<HandoverState, ApplyError>>),
    /// It has given up: go on as before.
    CancelHandOver,
    /// Begin to leave; answered, with the limit, when no new connection is accepted any more.
    Shutdown(ShutdownRequest, oneshot::Sender<Duration>),
}

/// What the process that takes over starts with.
#[derive(Debug)]
pub struct HandoverState {
    /// The generation in force.
    pub generation: u64,
    pub text: Arc<str>,
    /// The file that the text came from.
    pub file: Arc<str>,
    /// Who put it in force.
    pub origin: ChangeOrigin,
    /// What is remembered of servers.
    pub memory: SavedState,
    /// Listening sockets with the addresses that they were configured with.
    pub sockets: Vec<(SocketAddr, OwnedFd)>,
}

impl ControlHandle {
    /// A handle, the commands that the actor takes, and where it publishes snapshots.
    pub fn new(
        first: Arc<StateSnapshot>,
        events: EventLog,
    ) -> (ControlHandle, mpsc::Receiver<ControlCommand>, watch::Sender<Arc<StateSnapshot>>) {
        let (orders, inbox) = mpsc::channel(COMMANDS);
        let (publish, pictures) = watch::channel(first);
        (ControlHandle { commands: orders, states: pictures, events }, inbox, publish)
    }

    /// What is in force now.
    pub fn state(&self) -> Arc<StateSnapshot> {
        self.states.borrow().clone()
    }

    /// Whether a text, put in force, would end everything without saying so: it says nothing, and what is in force does.
    pub fn would_remove_everything(&self, text: &str) -> bool {
        is_blank(text) && !is_blank(&self.state().text)
    }

    /// Follows what is in force; several changes in a row may be seen as one.
    pub fn watch(&self) -> watch::Receiver<Arc<StateSnapshot>> {
        self.states.clone()
    }

    /// The daemon's own events: to add one, to follow them, to read the last ones.
    pub fn events(&self) -> &EventLog {
        &self.events
    }

    /// Puts a configuration in force, wholly or not at all.
    ///
    /// # Errors
    /// Mistakes in the text, a listener that cannot be opened, a change made meanwhile. Nothing has changed then.
    pub async fn apply(&self, change: ConfigChange) -> Result<ApplyOutcome, ApplyError> {
        self.request(|back| ControlCommand::Apply(Box::new(change), back)).await?
    }

    /// Changes one object of the configuration that is in force when it is its turn, wholly or not at all.
    ///
    /// # Errors
    /// As `apply`, and when there is no such object.
    pub async fn patch(&self, patch: ConfigPatch) -> Result<ApplyOutcome, ApplyError> {
        self.request(|back| ControlCommand::Patch(Box::new(patch), back)).await?
    }

    /// Says what a configuration would do; changes nothing. `Ok(Err(_))`: its mistakes.
    ///
    /// # Errors
    /// The daemon is stopping.
    pub async fn plan(
        &self,
        text: String,
        file: String,
    ) -> Result<Result<PlanOutcome, ApplyError>, DaemonStopping> {
        self.request(|back| ControlCommand::Plan(text, file, back)).await
    }

    /// Puts an older generation's text in force, as a new generation; `None`: the one before the present.
    ///
    /// # Errors
    /// As `apply`, and when no such generation is kept.
    pub async fn rollback(
        &self,
        to: Option<u64>,
        save: Option<bool>,
        origin: ChangeOrigin,
    ) -> Result<ApplyOutcome, RollbackError> {
        self.request(|back| ControlCommand::Rollback(to, save, origin, back))
            .await
            .map_err(ApplyError::from)?
    }

    /// The generations kept, oldest first.
    ///
    /// # Errors
    /// The daemon is stopping.
    pub async fn generations(&self) -> Result<Vec<GenerationRecord>, DaemonStopping> {
        self.request(ControlCommand::Generations).await
    }

    /// The text of a kept generation; `None`: it is not kept.
    ///
    /// # Errors
    /// The daemon is stopping.
    pub async fn generation_text(&self, number: u64) -> Result<Option<String>, DaemonStopping> {
        self.request(|back| ControlCommand::GenerationText(number, back)).await
    }

    /// Gives an operator's word for a server; it stands until the file's own word changes.
    ///
    /// # Errors
    /// No such server, or the daemon is stopping.
    pub async fn command_server(
        &self,
        pool: &str,
        name: &str,
        word: OperatorCommand,
        origin: ChangeOrigin,
    ) -> Result<Arc<ServerFacts>, ServerCommandError> {
        let pool = pool.to_owned();
        let name = name.to_owned();
        let order = ServerCommandRequest { pool, name, command: word, save: Some(false), origin };
        Ok(self.run_server_command(order).await?.facts)
    }

    /// Carries out an order about a server; it stands until the file's own word changes.
    ///
    /// # Errors
    /// See `ServerCommandError`.
    pub async fn run_server_command(
        &self,
        order: ServerCommandRequest,
    ) -> Result<ServerCommandOutcome, ServerCommandError> {
        self.request(|back| ControlCommand::ServerCommand(Box::new(order), back)).await?
    }

    /// Takes an order back; `None`: the latest that can be.
    ///
    /// # Errors
    /// See `UndoError`.
    pub async fn undo(
        &self,
        id: Option<u64>,
        origin: ChangeOrigin,
    ) -> Result<UndoOutcome, UndoError> {
        self.request(|back| ControlCommand::Undo(id, origin, back)).await?
    }

    /// The record of orders, from this moment (Unix milliseconds) on.
    ///
    /// # Errors
    /// The daemon is stopping.
    pub async fn read_audit(&self, since_unix_ms: u64) -> Result<AuditExcerpt, DaemonStopping> {
        self.request(|back| ControlCommand::Audit(since_unix_ms, back)).await
    }

    /// Tells what a source of servers said.
    pub async fn report_discovery(&self, found: DiscoveryResult) {
        let _ = self.commands.send(ControlCommand::Discovery(found)).await;
    }

    /// Says that time has passed: windows open and close, limits end.
    pub async fn tick(&self) {
        let _ = self.commands.send(ControlCommand::Tick).await;
    }

    /// Says that the last clients of quiesced servers have gone.
    pub async fn report_clients_gone(&self, servers: Vec<ServerId>) {
        let _ = self.commands.send(ControlCommand::ClientsGone(servers)).await;
    }

    /// Reports a judgement; waits only while very many orders are waiting. Of a server that is gone it is ignored.
    pub async fn report_health(&self, verdict: HealthReport) {
        // A daemon on its way out has no use for it.
        let _ = self.commands.send(ControlCommand::HealthReport(verdict)).await;
    }

    /// Reports what a server's agent says; waits and is ignored like a verdict.
    pub async fn report_agent(&self, word: ServerAgentReport) {
        let _ = self.commands.send(ControlCommand::Agent(word)).await;
    }

    /// Reports where a server's name leads; waits and is ignored like a verdict.
    pub async fn report_resolution(&self, resolution: ServerResolution) {
        let _ = self.commands.send(ControlCommand::Resolution(resolution)).await;
    }

    /// Has the files of certificates looked at; what changed is told as events.
    pub async fn reload_certificates(&self) {
        let _ = self.commands.send(ControlCommand::ReloadCertificates).await;
    }

    /// Has something ready for the authority of the order of this name, or nothing any more; returns when workers show
    /// it.
    pub async fn publish_proof(&self, key: String, proof: Option<AcmeProof>) {
        // A daemon on its way out shows nothing.
        let _ = self.request(|back| ControlCommand::PublishProof(key, proof, back)).await;
    }

    /// Hands everything to the process that takes over; until `cancel_hand_over` or `begin_shutdown` nothing is changed
    /// any more.
    ///
    /// # Errors
    /// Another one is taking over, or the daemon is stopping.
    pub async fn hand_over(&self) -> Result<HandoverState, ApplyError> {
        self.request(ControlCommand::HandOver).await?
    }

    /// The process that was taking over has given up: changes are possible again.
    pub async fn cancel_hand_over(&self) {
        let _ = self.commands.send(ControlCommand::CancelHandOver).await;
    }

    /// Gives servers other shares of the work; servers that are gone are passed over.
    pub async fn set_weight_shares(&self, shares: Vec<(ServerId, Option<WeightShare>)>) {
        let _ = self.commands.send(ControlCommand::WeightShares(shares)).await;
    }

    /// Puts servers out for what they answer, or lets them come back; servers that are gone are passed over.
    pub async fn set_ejections(&self, words: Vec<(ServerId, Option<ServerEjection>)>) {
        let _ = self.commands.send(ControlCommand::Ejections(words)).await;
    }

    /// Begins to leave; returns when no new connection is accepted any more, with how long exchanges may finish.
    /// The caller waits for them.
    ///
    /// # Errors
    /// The daemon is stopping already.
    pub async fn begin_shutdown(&self, how: ShutdownRequest) -> Result<Duration, DaemonStopping> {
        self.request(|back| ControlCommand::Shutdown(how, back)).await
    }

    async fn request<T>(
        &self,
        order: impl FnOnce(oneshot::Sender<T>) -> ControlCommand,
    ) -> Result<T, DaemonStopping> {
        let (back, answer) = oneshot::channel();
        self.commands.send(order(back)).await.map_err(|_| DaemonStopping)?;
        answer.await.map_err(|_| DaemonStopping)
    }
}
