//! `steelyard run`: the order of starting, serving and shutting down, in one place.
//!
//! `App` puts together what runs; this file adds the process around it: file, signals, systemd, upgrades.

mod descriptor_limit;
pub mod host_check;
mod process;
mod signals;
mod successor;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::config::{CheckedConfig, ConfigFindings, ControlConfig, load, standard_paths};

use crate::api_server::control_socket::{ControlSocketError, ReplacePolicy, bind};
use crate::app::upgrade::message::UpgradeOffer;
use crate::app::upgrade::new_process::{TakeError, TakenOverState, take_over};
use crate::app::upgrade::socket_beside;
use crate::app::upgrade::spawn::UpgradeProgram;
use crate::app::{App, AppBuildError, AppOptions};
use crate::control::config_overlay::{ConfigOverlay, apply_overlay};
use crate::state::saved_state::PredecessorState;
use crate::state::{ChangeOrigin, ChangeTrigger, ConfigChange, ShutdownRequest};
use crate::tls::secrets::{ExposedFile, FileReader, find_exposed_files};
use crate::util::atomic_file;
use crate::util::event::{EventLog, LogFormat};
use crate::util::listeners::{ListeningSocket, SocketStore};
use crate::util::systemd::{self, SystemdNotifier};
use process::{FILE_BYTES, ProcessContext, ProcessSockets, RunningDaemon};
use signals::SignalListener;

/// Only root and our own user may take over.
const UPGRADE_MODE: u32 = 0o600;

/// Background work that is still under way at the end gets this long.
const BACKGROUND_GRACE: std::time::Duration = std::time::Duration::from_millis(200);

#[derive(Clone, Debug)]
pub struct RunOptions {
    pub config: PathBuf,
    /// Take over from the running daemon: its sockets, and its active configuration instead of the file's.
    pub takeover: bool,
    /// The form of the daemon's own events.
    pub events: LogFormat,
}

/// Why it did not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file has mistakes.
    #[error("{0}")]
    Invalid(ConfigFindings),
    /// Files of secrets that others can use.
    #[error("{}", exposed.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Exposed { exposed: Vec<ExposedFile> },
    /// The process cannot be set up.
    #[error("cannot {action}: {source}")]
    Process {
        action: &'static str,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Bind(#[from] ControlSocketError),
    /// There was nothing to take over.
    #[error(transparent)]
    Takeover(#[from] TakeError),
    #[error(transparent)]
    Build(#[from] AppBuildError),
}

impl RunError {
    /// 2 for input that cannot be read, 1 for everything else.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, RunError::Read { .. }) { 2 } else { 1 }
    }
}

/// Runs until the process is requested to stop.
///
/// # Errors
/// It could not start; nothing is left behind.
pub fn run(options: RunOptions) -> Result<(), RunError> {
    // Before anything else is opened: systemd hands descriptors over by number.
    let inherited = systemd::stored_sockets();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(startup_error("start the runtime"))?;
    let events = EventLog::stderr(options.events);
    let result = runtime.block_on(run_daemon(&options, inherited, &events));
    // A look-up that hangs in the system's resolver must not keep the process alive.
    runtime.shutdown_timeout(BACKGROUND_GRACE);
    events.flush();
    result
}

async fn run_daemon(
    options: &RunOptions,
    inherited: Vec<ListeningSocket>,
    events: &EventLog,
) -> Result<(), RunError> {
    let written = load_config(&options.config, events)?;
    let mut signals = SignalListener::new().map_err(startup_error("listen for signals"))?;
    descriptor_limit::raise_descriptors(events);
    let notify = SystemdNotifier::from_environment();
    let around = ProcessContext {
        config: options.config.clone(),
        events: events.clone(),
        notify: notify.clone(),
        watchdog: systemd::watchdog_interval(std::env::var("WATCHDOG_USEC").ok().as_deref()),
        upgrade_program: UpgradeProgram::current().ok(),
    };
    let start = ProcessStart { config: options.config.clone(), events: events.clone(), notify };
    let (app, doors) = if options.takeover {
        start.take_over(written).await?
    } else {
        start.start_alone(written, inherited).await?
    };
    let opened = RunningDaemon::open(app, doors, around);
    let mut process = opened.map_err(startup_error("open the API's socket"))?;
    let how = process.serve(&mut signals).await;
    process.shut_down(how, &mut signals).await;
    Ok(())
}

/// A configuration that was read.
struct LoadedConfig {
    text: String,
    file: String,
    origin: ChangeOrigin,
    checked: CheckedConfig,
    /// The file's own text.
    base: Arc<str>,
}

fn load_config(path: &Path, events: &EventLog) -> Result<LoadedConfig, RunError> {
    let failed = |source| RunError::Read { path: path.to_owned(), source };
    let text = atomic_file::read(path, FILE_BYTES).map_err(failed)?;
    let text = text.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    let file = path.display().to_string();
    let base: Arc<str> = text.into();
    let text = apply_overlay(&base, &file, events);
    let checked = load(&text, &file).map_err(RunError::Invalid)?;
    let exposed = find_exposed_files(&checked.config, FileReader::ProcessUser);
    if !exposed.is_empty() {
        return Err(RunError::Exposed { exposed });
    }
    Ok(LoadedConfig {
        text,
        file,
        origin: ChangeOrigin::new("run", ChangeTrigger::Start),
        checked,
        base,
    })
}

/// The two ways to start.
struct ProcessStart {
    config: PathBuf,
    events: EventLog,
    notify: SystemdNotifier,
}

impl ProcessStart {
    /// Alone: the doors first, so that a second daemon finds the first one before it touches anything.
    async fn start_alone(
        &self,
        written: LoadedConfig,
        inherited: Vec<ListeningSocket>,
    ) -> Result<(App, Option<ProcessSockets>), RunError> {
        let doors =
            self.bind_sockets(&written.checked.config.global.control, ReplacePolicy::StaleOnly)?;
        let app = App::build(self.plan(written, inherited)).await.inspect_err(|_| {
            for bound in doors.iter().flat_map(|doors| [&doors.control, &doors.upgrade]) {
                bound.socket_path().remove();
            }
        })?;
        Ok((app, doors))
    }

    /// Takes over from the running daemon. The sockets are transferred last, so that the running daemon still has them
    /// if this process fails.
    async fn take_over(
        &self,
        written: LoadedConfig,
    ) -> Result<(App, Option<ProcessSockets>), RunError> {
        let running = written.checked.config.global.control.socket.clone();
        let mut state = take_over(&socket_beside(&running.ok_or(TakeError::NoSocket)?)).await?;
        let written = self.adopt_active_config(&state, written);
        let control = written.checked.config.global.control.clone();
        let sockets = std::mem::take(&mut state.sockets);
        let predecessor = Some(PredecessorState {
            generation: state.offer.generation,
            saved: state.offer.memory.clone(),
        });
        let plan = AppOptions { predecessor, ..self.plan(written, sockets) };
        let mut app = App::build(plan).await?;
        let before = state.offer.pid;
        match state.confirm_ready().await {
            Ok(line) => app.follow_predecessor(before, line),
            Err(error) => {
                // Connections that were accepted meanwhile are finished.
                let how = ShutdownRequest { handed_over: true, limit: None, detach: true };
                app.shut_down(how, std::future::pending()).await;
                return Err(error.into());
            }
        }
        Ok((app, self.bind_sockets(&control, ReplacePolicy::RunningDaemon)?))
    }

    /// Binds the sockets; `None`: they are off, or no path is configured and the default one cannot be used. Forwarding
    /// needs none.
    fn bind_sockets(
        &self,
        control: &ControlConfig,
        over: ReplacePolicy,
    ) -> Result<Option<ProcessSockets>, ControlSocketError> {
        let Some(socket) = &control.socket else { return Ok(None) };
        match bind_both(socket, control.mode, over) {
            Err(error) if *socket == standard_paths().socket && error.is_unwritable_directory() => {
                let text = format!(
                    "{error}; the API is served by no socket, and this process can be asked for nothing but by signals \
                     and over TCP: set `socket` in `global.control` to a path that can be written, or to \"off\""
                );
                self.events.warn("api-socket", text);
                Ok(None)
            }
            done => done.map(Some),
        }
    }

    /// Adopts the active configuration of the previous process, if this one can parse it. The file may differ by now.
    fn adopt_active_config(&self, state: &TakenOverState, written: LoadedConfig) -> LoadedConfig {
        let offer = &state.offer;
        if offer.text == written.text {
            return LoadedConfig { origin: offer.origin.clone(), ..written };
        }
        match load(&offer.text, &offer.file) {
            Ok(checked) => {
                let text = format!(
                    "generation {} of process {} stays active; {} says something else: reload to activate that",
                    offer.generation, offer.pid, written.file
                );
                self.events.warn("file-differs", text);
                let text = offer.text.clone();
                let file = offer.file.clone();
                let origin = offer.origin.clone();
                let base = self.active_base_text(offer, &written);
                LoadedConfig { text, file, origin, checked, base }
            }
            Err(findings) => {
                let text = format!(
                    "what was active is not valid any more, {} is taken instead: {findings}",
                    written.file
                );
                self.events.warn("file-differs", text);
                written
            }
        }
    }

    /// The file's text from which the active configuration of the previous process was made.
    fn active_base_text(&self, offer: &UpgradeOffer, written: &LoadedConfig) -> Arc<str> {
        let overlay = ConfigOverlay::read(&written.checked.config.global.control.state);
        let same =
            overlay.ok().flatten().filter(|overlay_of_offer| overlay_of_offer.text == offer.text);
        same.map_or_else(
            || offer.text.as_str().into(),
            |overlay_of_offer| overlay_of_offer.base.into(),
        )
    }

    fn plan(&self, written: LoadedConfig, inherited: Vec<ListeningSocket>) -> AppOptions {
        let LoadedConfig { text, file, origin, checked, base } = written;
        for warning in &checked.warnings {
            self.events.warn("configuration", warning.to_string());
        }
        let global = checked.config.global;
        let keeper: Box<dyn SocketStore> = Box::new(self.notify.clone());
        AppOptions {
            change: ConfigChange { base: Some(base), ..ConfigChange::new(text, file, origin) },
            state: Some(global.control.state.clone()),
            file: Some(self.config.clone()),
            global,
            inherited,
            predecessor: None,
            socket_store: keeper,
            events: self.events.clone(),
        }
    }
}

fn bind_both(
    socket: &Path,
    mode: u32,
    over: ReplacePolicy,
) -> Result<ProcessSockets, ControlSocketError> {
    let control = bind(socket, mode, over)?;
    let upgrade = bind(&socket_beside(socket), UPGRADE_MODE, ReplacePolicy::RunningDaemon);
    let upgrade = upgrade.inspect_err(|_| control.socket_path().remove())?;
    Ok(ProcessSockets { control, upgrade })
}

fn startup_error(action: &'static str) -> impl Fn(io::Error) -> RunError {
    move |source| RunError::Process { action, source }
}
