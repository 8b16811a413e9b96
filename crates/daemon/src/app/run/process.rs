//! The running process: what it does on signals, and how it leaves.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use l7::OpenCounts;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::signals::{Signal, SignalListener};
use super::successor::{Successor, TAKEOVER_TIMEOUT};
use crate::api_server::control_socket::{BoundControlSocket, SocketPath};
use crate::app::App;
use crate::app::upgrade::draining_process::EVERY;
use crate::app::upgrade::message::{self, UpgradeMessage};
use crate::app::upgrade::old_process::{self, SuccessorConnection};
use crate::app::upgrade::spawn::UpgradeProgram;
use crate::control::config_overlay::apply_overlay;
use crate::state::{ChangeOrigin, ChangeTrigger, ConfigChange, ShutdownRequest};
use crate::util::atomic_file;
use crate::util::event::EventLog;
use crate::util::memory_footprint::release_code_pages;
use crate::util::systemd::SystemdNotifier;

/// Bytes of a configuration file that are read; more is refused.
/// As much as the API accepts, so that a configuration from the API can be loaded at the next start.
pub(super) const FILE_BYTES: u64 = 16 << 20;

pub(super) struct RunningDaemon {
    app: App,
    config: PathBuf,
    events: EventLog,
    notify: SystemdNotifier,
    watchdog: Option<Duration>,
    program: Option<UpgradeProgram>,
    upgrade_child: Option<Successor>,
    /// A takeover is running.
    takeover_in_progress: Arc<AtomicBool>,
    handovers: mpsc::Receiver<SuccessorConnection>,
    /// The connection to the process that has taken over.
    successor_stream: Option<UnixStream>,
    handover_task: Option<JoinHandle<()>>,
    upgrade_socket_path: Option<SocketPath>,
}

/// The sockets of the API and of takeovers.
pub(super) struct ProcessSockets {
    pub control: BoundControlSocket,
    pub upgrade: BoundControlSocket,
}

/// The parts of a process besides its `App`.
pub(super) struct ProcessContext {
    pub config: PathBuf,
    pub events: EventLog,
    pub notify: SystemdNotifier,
    /// How often systemd expects a watchdog notification.
    pub watchdog: Option<Duration>,
    /// The program that an upgrade starts; `None`: its path is unknown.
    pub upgrade_program: Option<UpgradeProgram>,
}

impl RunningDaemon {
    /// Opens the doors.
    ///
    /// # Errors
    /// A socket cannot be handed to the runtime.
    pub fn open(
        mut app: App,
        doors: Option<ProcessSockets>,
        around: ProcessContext,
    ) -> std::io::Result<RunningDaemon> {
        let (control, upgrade) = doors.map(|doors| (doors.control, doors.upgrade)).unzip();
        let upgrade_place = upgrade.as_ref().map(BoundControlSocket::socket_path);
        let listener = upgrade.map(|bound| UnixListener::from_std(bound.listener)).transpose()?;
        app.serve_api(control);
        let (tell, handed) = mpsc::channel(1);
        let takes_over = Arc::new(AtomicBool::new(false));
        let changes = app.control.clone();
        let admin = app.admin();
        let give = |listener| {
            old_process::serve_takeover(listener, changes, admin, Arc::clone(&takes_over), tell)
        };
        let giver = listener.map(|listener| tokio::spawn(give(listener)));
        let ProcessContext { config, events, notify, watchdog, upgrade_program: program } = around;
        let child = None;
        Ok(RunningDaemon {
            app,
            config,
            events,
            notify,
            watchdog,
            program,
            upgrade_child: child,
            takeover_in_progress: takes_over,
            handovers: handed,
            successor_stream: None,
            handover_task: giver,
            upgrade_socket_path: upgrade_place,
        })
    }

    /// Reports to systemd and to the log that everything runs.
    fn announce_ready(&self) {
        self.notify.ready(&self.status());
        self.events.info("ready", self.status());
        // Only memory is at stake: a kernel that refuses has its reasons, and everything works.
        let _ = release_code_pages();
    }

    /// Serves until a stop is requested, and returns its kind. With packet services, the process is ready only once
    /// packets are forwarded.
    pub async fn serve(&mut self, signals: &mut SignalListener) -> ShutdownRequest {
        let mut life = interval(self.watchdog);
        let mut settled = std::pin::pin!(self.app.wait_packet_plane());
        let mut ready = false;
        loop {
            tokio::select! {
                () = &mut settled, if !ready => {
                    ready = true;
                    self.announce_ready();
                }
                signal = signals.next_signal() => match signal {
                    Signal::Shutdown => return ShutdownRequest { handed_over: false, limit: None, detach: true },
                    Signal::Reload => self.reload().await,
                    Signal::Reopen => self.app.access_log.reopen(),
                    Signal::Upgrade => self.upgrade(),
                },
                stop_request = self.app.wait_stop_request() => {
                    return ShutdownRequest { handed_over: false, limit: stop_request.limit, detach: stop_request.detach };
                }
                Some(SuccessorConnection { pid, stream }) = self.handovers.recv() => {
                    self.successor_stream = Some(stream);
                    self.events.info("handed-over", format!("process {pid} has taken over; we finish what we have"));
                    return ShutdownRequest { handed_over: true, limit: None, detach: true };
                }
                why = upgrade_failure(&mut self.upgrade_child, &self.takeover_in_progress) => {
                    let pid = self.upgrade_child.take().map(|child| child.pid()).unwrap_or_default();
                    let text = format!("the new process {pid} did not take over: {why}; we go on");
                    self.events.error("upgrade-failed", text);
                }
                () = life.tick() => self.notify.ping_watchdog(),
            }
        }
    }

    /// Shuts down; a second signal resets the connections that are left.
    pub async fn shut_down(self, how: ShutdownRequest, signals: &mut SignalListener) {
        let RunningDaemon {
            app,
            events,
            notify,
            watchdog,
            handover_task: giver,
            upgrade_socket_path: upgrade_place,
            successor_stream: mut line,
            ..
        } = self;
        let drain = how.limit.unwrap_or(app.control.state().config.global.drain);
        let open = app.open_counts();
        let text = format!("leaving within {drain:?}: {} connections are open", open.connections);
        if !how.handed_over {
            // After a handover the service continues in the other process, so systemd gets no notification.
            notify.stopping(&text, drain);
        }
        events.info("leaving", text);
        if let Some(giver) = giver {
            giver.abort();
        }
        let count = app.open_counter();
        let second_signal = async {
            let mut life = interval(watchdog);
            let mut tell = tokio::time::interval(EVERY);
            loop {
                tokio::select! {
                    signal = signals.next_signal() => if signal == Signal::Shutdown { return },
                    () = life.tick() => notify.ping_watchdog(),
                    _ = tell.tick(), if line.is_some() => report_draining(&mut line, &count()).await,
                }
            }
        };
        let left = app.shut_down(how, second_signal).await;
        if let Some(place) = upgrade_place {
            place.remove();
        }
        events.info("left", describe_resets(&left));
    }

    async fn reload(&self) {
        self.notify.reloading();
        let file = self.config.display().to_string();
        match atomic_file::read(&self.config, FILE_BYTES) {
            Ok(Some(text)) => {
                let laid = apply_overlay(&text, &file, &self.events);
                if self.app.control.would_remove_everything(&laid) {
                    let why = "it is empty, which would end every service; `[global]` alone says so on purpose";
                    let text = format!("{file} is not active, nothing has changed: {why}");
                    self.events.error("reload-failed", text);
                } else {
                    self.apply_text(laid, text, &file).await;
                }
            }
            Ok(None) => self.events.error("reload-failed", format!("{file} is not there")),
            Err(error) => {
                self.events.error("reload-failed", format!("cannot read {file}: {error}"))
            }
        }
        self.notify.ready(&self.status());
    }

    /// Activates a configuration that was derived from the file's text.
    async fn apply_text(&self, laid: String, own: String, file: &str) {
        let origin = ChangeOrigin::new("SIGHUP", ChangeTrigger::Reload);
        let change =
            ConfigChange { base: Some(own.into()), ..ConfigChange::new(laid, file, origin) };
        if let Err(error) = self.app.control.apply(change).await {
            let text = format!("{file} is not active, nothing has changed: {error}");
            self.events.error("reload-failed", text);
        }
    }

    fn upgrade(&mut self) {
        if self.upgrade_child.is_some() {
            self.events.warn("upgrade-running", "a new process has been started already");
            return;
        }
        let Some(program) = &self.program else {
            self.events
                .error("upgrade-failed", "the path of this program is not known: is /proc there?");
            return;
        };
        let path = program.path.display();
        match program.start() {
            Ok(child) => {
                let pid = child.id().unwrap_or_default();
                self.events.info("upgrading", format!("{path} was started as process {pid}"));
                self.upgrade_child = Some(Successor::new(child, TAKEOVER_TIMEOUT));
            }
            Err(error) => {
                self.events.error("upgrade-failed", format!("{path} cannot be started: {error}"));
            }
        }
    }

    fn status(&self) -> String {
        let snapshot = self.app.control.state();
        let services = snapshot.config.services.len();
        let pools = snapshot.config.pools.len();
        format!("generation {}: {services} services, {pools} pools", snapshot.generation)
    }
}

/// Reports the open connections of this process to the process that has taken over.
async fn report_draining(line: &mut Option<UnixStream>, open: &OpenCounts) {
    let connections = u64::from(open.connections);
    let exchanges = u64::from(open.exchanges);
    let Some(stream) = line else { return };
    // A process that does not read is of another release, or has ended.
    if message::send_message(stream, &UpgradeMessage::Remains { connections, exchanges })
        .await
        .is_err()
    {
        *line = None;
    }
}

/// Describes the connections that were reset, by kind.
fn describe_resets(left: &OpenCounts) -> String {
    let OpenCounts { connections, exchanges, tunnels, idle, .. } = left;
    if *connections == 0 && *exchanges == 0 {
        return "nothing was cut".to_owned();
    }
    let exchanges = exchanges.saturating_sub(*tunnels);
    format!(
        "cut {connections} client connections: {exchanges} with an exchange, {tunnels} tunnels, {idle} idle"
    )
}

/// How an upgrade failed; never when there is none.
async fn upgrade_failure(child: &mut Option<Successor>, takes_over: &AtomicBool) -> String {
    match child {
        Some(child) => child.wait_failure(takes_over).await,
        None => std::future::pending().await,
    }
}

/// Ticks at most that often; never without a period.
struct WatchdogTimer(Option<tokio::time::Interval>);

fn interval(period: Option<Duration>) -> WatchdogTimer {
    WatchdogTimer(period.map(|period| tokio::time::interval_at(Instant::now() + period, period)))
}

impl WatchdogTimer {
    async fn tick(&mut self) {
        match &mut self.0 {
            Some(interval) => drop(interval.tick().await),
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_is_reported_by_kind() {
        assert_eq!(describe_resets(&OpenCounts::default()), "nothing was cut");
        let left = OpenCounts {
            connections: 5,
            exchanges: 4,
            tunnels: 1,
            idle: 1,
            ..OpenCounts::default()
        };
        assert_eq!(
            describe_resets(&left),
            "cut 5 client connections: 3 with an exchange, 1 tunnels, 1 idle"
        );
    }
}
