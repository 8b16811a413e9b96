//! The handle by which the rest of the daemon sends commands and reads the active state.
//!
//! Cheap to clone. Commands are sent to one task (the control actor), which executes them one after the other. Reading
//! costs an atomic load and blocks no other task.

use std::sync::Arc;
use std::time::Duration;

use model::config::toml_tree::is_blank;
use model::id::ServerId;
use tokio::sync::{mpsc, oneshot, watch};

use crate::state::acme_proof::AcmeProof;
use crate::state::change::AuditExcerpt;
use crate::state::change::{
    ApplyError, ApplyOutcome, ConfigChange, ConfigPatch, DaemonStoppingError, GenerationRecord,
    HealthReport, PlanOutcome, RollbackError, ServerAgentReport, ServerResolution, ShutdownRequest,
};
use crate::state::discovery_result::DiscoveryResult;
use crate::state::origin::ChangeOrigin;
use crate::state::saved_state::SavedState;
use crate::state::server_command::{
    OperatorCommand, ServerCommandError, ServerCommandOutcome, ServerCommandRequest, UndoError,
    UndoOutcome,
};
use crate::state::state_snapshot::{EjectionChange, ServerFacts, StateSnapshot, WeightShareChange};
use crate::util::event::EventLog;
use crate::util::listeners::ListeningSocket;

/// Orders that may wait; who sends more waits.
const COMMANDS: usize = 1024;

#[derive(Clone, Debug)]
pub struct ControlHandle {
    commands: mpsc::Sender<ControlCommand>,
    states: watch::Receiver<Arc<StateSnapshot>>,
    events: EventLog,
}

/// A command, with the channel for its answer.
#[derive(Debug)]
pub enum ControlCommand {
    Apply(Box<ConfigChange>, oneshot::Sender<Result<ApplyOutcome, ApplyError>>),
    Patch(Box<ConfigPatch>, oneshot::Sender<Result<ApplyOutcome, ApplyError>>),
    /// Plan a configuration: its text, its file.
    Plan(String, String, oneshot::Sender<Result<PlanOutcome, ApplyError>>),
    /// Activates an older generation: its number, whether to save it, and the requester.
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
    /// Undoes an order: its number in the audit log, and the requester.
    Undo(Option<u64>, ChangeOrigin, oneshot::Sender<Result<UndoOutcome, UndoError>>),
    /// The audit log, from this moment (Unix milliseconds) on.
    Audit(u64, oneshot::Sender<AuditExcerpt>),
    /// An answer of a discovery source.
    Discovery(DiscoveryResult),
    Tick,
    /// The last clients of these servers have disconnected.
    ClientsGone(Vec<ServerId>),
    /// The result of health checks.
    HealthReport(HealthReport),
    /// A report of an agent.
    Agent(ServerAgentReport),
    /// A result of name resolution.
    Resolution(ServerResolution),
    /// Look whether files of certificates have changed.
    ReloadCertificates,
    /// Publish the challenge response of the ACME order of this name, or withdraw it; answered when workers serve it.
    PublishProof(String, Option<AcmeProof>, oneshot::Sender<()>),
    /// Weight changes by the weight controller and slow start.
    WeightShares(Vec<WeightShareChange>),
    /// Servers to eject for their responses, or to readmit.
    Ejections(Vec<EjectionChange>),
    /// Hand everything to the process that takes over.
    HandOver(oneshot::Sender<Result<HandoverState, ApplyError>>),
    /// It has given up: go on as before.
    CancelHandOver,
    /// Begin the shutdown; answered, with the limit, when no new connection is accepted.
    Shutdown(ShutdownRequest, oneshot::Sender<Duration>),
}

/// The state that the next process starts with.
#[derive(Debug)]
pub struct HandoverState {
    pub generation: u64,
    pub text: Arc<str>,
    /// The file that the text was read from.
    pub file: Arc<str>,
    pub origin: ChangeOrigin,
    /// The state of servers.
    pub memory: SavedState,
    pub sockets: Vec<ListeningSocket>,
}

/// Both ends of the channels between the control actor and everybody else.
pub struct ControlChannels {
    pub handle: ControlHandle,
    /// The commands that the actor takes.
    pub commands: mpsc::Receiver<ControlCommand>,
    /// Where the actor publishes snapshots.
    pub snapshots: watch::Sender<Arc<StateSnapshot>>,
}

impl ControlChannels {
    /// Channels whose first snapshot is `first`.
    pub fn new(first: Arc<StateSnapshot>, events: EventLog) -> ControlChannels {
        let (orders, commands) = mpsc::channel(COMMANDS);
        let (snapshots, states) = watch::channel(first);
        let handle = ControlHandle { commands: orders, states, events };
        ControlChannels { handle, commands, snapshots }
    }
}

impl ControlHandle {
    pub fn state(&self) -> Arc<StateSnapshot> {
        self.states.borrow().clone()
    }

    /// Whether activating this text would remove all services by accident: the text is empty and the active
    /// configuration is not.
    pub fn would_remove_everything(&self, text: &str) -> bool {
        is_blank(text) && !is_blank(&self.state().text)
    }

    /// Follows the state; several changes in a row may arrive as one.
    pub fn watch(&self) -> watch::Receiver<Arc<StateSnapshot>> {
        self.states.clone()
    }

    /// The daemon's own events: to add one, to follow them, to read the last ones.
    pub fn events(&self) -> &EventLog {
        &self.events
    }

    /// Activates a configuration, completely or not at all.
    ///
    /// # Errors
    /// Mistakes in the text, a listener that cannot be opened, a change made meanwhile. Nothing has changed then.
    pub async fn apply(&self, change: ConfigChange) -> Result<ApplyOutcome, ApplyError> {
        self.request(|back| ControlCommand::Apply(Box::new(change), back)).await?
    }

    /// Changes one object of the then active configuration, completely or not at all.
    ///
    /// # Errors
    /// As `apply`, and when there is no such object.
    pub async fn patch(&self, patch: ConfigPatch) -> Result<ApplyOutcome, ApplyError> {
        self.request(|back| ControlCommand::Patch(Box::new(patch), back)).await?
    }

    /// Plans a configuration without changing anything. `Ok(Err(_))`: its mistakes.
    ///
    /// # Errors
    /// The daemon is stopping.
    pub async fn plan(
        &self,
        text: String,
        file: String,
    ) -> Result<Result<PlanOutcome, ApplyError>, DaemonStoppingError> {
        self.request(|back| ControlCommand::Plan(text, file, back)).await
    }

    /// Activates an older generation's text, as a new generation; `None`: the previous one.
    ///
    /// # Errors
    /// As `apply`, or no such generation is stored.
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

    /// The stored generations, oldest first.
    ///
    /// # Errors
    /// The daemon is stopping.
    pub async fn generations(&self) -> Result<Vec<GenerationRecord>, DaemonStoppingError> {
        self.request(ControlCommand::Generations).await
    }

    /// The text of a stored generation; `None`: it is not stored.
    ///
    /// # Errors
    /// The daemon is stopping.
    pub async fn generation_text(
        &self,
        number: u64,
    ) -> Result<Option<String>, DaemonStoppingError> {
        self.request(|back| ControlCommand::GenerationText(number, back)).await
    }

    /// Sends a server command. It applies until the file's value for the same setting changes.
    ///
    /// # Errors
    /// No such server, or the daemon is stopping.
    pub async fn command_server(
        &self,
        pool: &str,
        name: &str,
        command: OperatorCommand,
        origin: ChangeOrigin,
    ) -> Result<Arc<ServerFacts>, ServerCommandError> {
        let pool = pool.to_owned();
        let name = name.to_owned();
        let order =
            ServerCommandRequest { pool, name, command, save: Some(false), part_of: None, origin };
        Ok(self.run_server_command(order).await?.facts)
    }

    /// Carries out an order about a server. It applies until the file's value for the same setting changes.
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

    /// The audit log, from this moment (Unix milliseconds) on.
    ///
    /// # Errors
    /// The daemon is stopping.
    pub async fn read_audit(
        &self,
        since_unix_ms: u64,
    ) -> Result<AuditExcerpt, DaemonStoppingError> {
        self.request(|back| ControlCommand::Audit(since_unix_ms, back)).await
    }

    /// Reports an answer of a discovery source.
    pub async fn report_discovery(&self, result: DiscoveryResult) {
        // A send fails only while the daemon stops, here and in the reports below; nothing uses the report then.
        let _ = self.commands.send(ControlCommand::Discovery(result)).await;
    }

    /// Handles the passing of time: maintenance windows open and close, limits end.
    pub async fn tick(&self) {
        let _ = self.commands.send(ControlCommand::Tick).await;
    }

    /// Reports that the last clients of quiesced servers have disconnected.
    pub async fn report_clients_gone(&self, servers: Vec<ServerId>) {
        let _ = self.commands.send(ControlCommand::ClientsGone(servers)).await;
    }

    /// Sends a health report. Waits only while the command queue is full. A report about a removed server is ignored.
    pub async fn report_health(&self, verdict: HealthReport) {
        // A daemon that is stopping does not need the report.
        let _ = self.commands.send(ControlCommand::HealthReport(verdict)).await;
    }

    /// Reports an agent's report; waits and fails silently like a verdict.
    pub async fn report_agent(&self, report: ServerAgentReport) {
        let _ = self.commands.send(ControlCommand::Agent(report)).await;
    }

    /// Reports where a server's name leads; waits and is ignored like a verdict.
    pub async fn report_resolution(&self, resolution: ServerResolution) {
        let _ = self.commands.send(ControlCommand::Resolution(resolution)).await;
    }

    /// Checks certificate files for changes, which are logged as events.
    pub async fn reload_certificates(&self) {
        let _ = self.commands.send(ControlCommand::ReloadCertificates).await;
    }

    /// Publishes the challenge response of the ACME order of this name, or withdraws it; returns when workers serve it.
    pub async fn publish_proof(&self, key: String, proof: Option<AcmeProof>) {
        // A daemon on its way out shows nothing.
        let _ = self.request(|back| ControlCommand::PublishProof(key, proof, back)).await;
    }

    /// Returns everything for the process that takes over. Changes are rejected until `cancel_hand_over` or
    /// `begin_shutdown`.
    ///
    /// # Errors
    /// Another one is taking over, or the daemon is stopping.
    pub async fn hand_over(&self) -> Result<HandoverState, ApplyError> {
        self.request(ControlCommand::HandOver).await?
    }

    /// Makes changes possible after a failed takeover.
    pub async fn cancel_hand_over(&self) {
        let _ = self.commands.send(ControlCommand::CancelHandOver).await;
    }

    /// Sets the weight shares of servers; removed servers are skipped.
    pub async fn set_weight_shares(&self, shares: Vec<WeightShareChange>) {
        let _ = self.commands.send(ControlCommand::WeightShares(shares)).await;
    }

    /// Ejects servers for their responses, or readmits them; servers that no longer exist are skipped.
    pub async fn set_ejections(&self, ejections: Vec<EjectionChange>) {
        let _ = self.commands.send(ControlCommand::Ejections(ejections)).await;
    }

    /// Begins the shutdown. Returns once no new connection is accepted, with the time that exchanges may take. The
    /// caller waits for the exchanges.
    ///
    /// # Errors
    /// The daemon is stopping already.
    pub async fn begin_shutdown(
        &self,
        how: ShutdownRequest,
    ) -> Result<Duration, DaemonStoppingError> {
        self.request(|back| ControlCommand::Shutdown(how, back)).await
    }

    async fn request<T>(
        &self,
        order: impl FnOnce(oneshot::Sender<T>) -> ControlCommand,
    ) -> Result<T, DaemonStoppingError> {
        let (back, answer) = oneshot::channel();
        self.commands.send(order(back)).await.map_err(|_| DaemonStoppingError)?;
        answer.await.map_err(|_| DaemonStoppingError)
    }
}
