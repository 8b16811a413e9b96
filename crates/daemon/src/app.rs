//! Everything that runs, put together once: workers, listeners, probes, resolver, log, API, metrics.
//!
//! `run` and `embed` use it alike. Signals, systemd and upgrades are `run`'s.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use l7::{OpenCounts, RequestPlane};
use model::config::GlobalConfig;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::api_server::control_socket::BoundControlSocket;
use crate::api_server::live_feed::LiveFeed;
use crate::api_server::{self, ApiContext, StopRequest};
use crate::observability::access_log::{self, AccessLogger};
use crate::util::admin_listeners::admin_sockets::AdminSockets;

use crate::app::upgrade::draining_process::follow_predecessor;
use crate::control::actor::start::StartedControl;
use crate::control::actor::{ActorParts, ControlActor};
use crate::control::reconcile::traffic_engine::TrafficEngine;
use crate::health::health_check::counts::ProbeSums;
use crate::health::health_check::{self, ProberParts};
use crate::observability::history::HistoryRecorder;
use crate::observability::metrics;
use crate::observability::observer::WorkerObserver;
use crate::observability::report::report_sources::ReportSources;
use crate::planes::egress_routes::EgressRoutes;
use crate::planes::name_server;
use crate::planes::packets;
use crate::planes::vrrp;
use crate::state::saved_state::PredecessorState;
use crate::state::{ApplyError, ConfigChange, ControlHandle, ShutdownRequest};
use crate::util::activity::ActivityMonitor;
use crate::util::event::EventLog;
use crate::util::listeners::{KernelSockets, ListenerSet, ListeningSocket, SocketStore};

mod background_tasks;
pub(crate) mod clock;
mod data_planes;
pub mod embed;
pub(crate) mod run;
mod running_planes;
mod size;
pub mod upgrade;

use background_tasks::{spawn_control_tasks, spawn_observers};
use data_planes::DataPlanes;
use running_planes::RunningPlanes;

/// The interval between checks for open connections. A shutdown may end this much late, which users do not notice.
const LOOK: Duration = Duration::from_millis(20);
/// Time for workers to log and count the connections that were reset, with their cause.
/// Workers act between two events; a second covers a busy host.
const RESET_GRACE: Duration = Duration::from_secs(1);
/// For the API to finish answers, and for the log to be written, at the end.
const FINISH_GRACE: Duration = Duration::from_secs(2);

/// The options of an `App`.
pub struct AppOptions {
    pub change: ConfigChange,
    /// Settings of the process in that configuration.
    pub global: GlobalConfig,
    /// Listening sockets of a process before.
    pub inherited: Vec<ListeningSocket>,
    /// What the previous process handed over; `None`: there was none.
    pub predecessor: Option<PredecessorState>,
    /// Stores listening sockets beyond the end of this process (systemd's file descriptor store).
    pub socket_store: Box<dyn SocketStore>,
    /// The directory of generations and server commands; `None`: nothing is stored.
    pub state: Option<PathBuf>,
    /// The file that commands are written back to; `None`: there is none.
    pub file: Option<PathBuf>,
    pub events: EventLog,
}

/// Why an `App` could not be built. Everything begun by then has been undone.
#[derive(Debug, thiserror::Error)]
pub enum AppBuildError {
    /// The access log's target.
    #[error(transparent)]
    Access(#[from] access_log::AccessLogOpenError),
    #[error("servers cannot be probed: {0}")]
    Probes(#[source] std::io::Error),
    #[error("the workers could not be started: {0}")]
    Plane(#[from] l7::PlaneStartError),
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

pub struct App {
    /// To ask for changes.
    pub control: ControlHandle,
    pub access_log: Arc<AccessLogger>,
    proxy: Arc<RequestPlane>,
    packets: packets::PacketPlaneHandle,
    vrrp: vrrp::VrrpHandle,
    egress: EgressRoutes,
    names: name_server::NameServerHandle,
    vitals: Arc<ReportSources>,
    history: Arc<HistoryRecorder>,
    config_file: Option<PathBuf>,
    tasks: JoinSet<()>,
    api: Option<ApiServerTask>,
    stop_sender: mpsc::Sender<StopRequest>,
    stop_receiver: mpsc::Receiver<StopRequest>,
}

/// The task that serves the control socket.
struct ApiServerTask {
    /// Ends the task once the answers under way are finished.
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl App {
    /// Starts everything but the API. Traffic flows when this returns.
    ///
    /// # Errors
    /// See `AppBuildError`.
    pub async fn build(plan: AppOptions) -> Result<App, AppBuildError> {
        let AppOptions {
            change,
            global,
            inherited,
            predecessor: before,
            socket_store: keeper,
            state,
            file,
            events,
        } = plan;
        let workers = size::workers(&global);
        let access = start_access_log(&global, &events)?;
        let ProberParts { prober, observer } =
            health_check::new_prober().map_err(AppBuildError::Probes)?;
        let activity = ActivityMonitor::new();
        let ears =
            WorkerObserver::new(observer, Arc::clone(&access), events.clone(), activity.clone());
        let plane = Arc::new(RequestPlane::start(size::options(&global, workers), Arc::new(ears))?);
        let mut listeners = ListenerSet::new(Box::new(KernelSockets), keeper, workers);
        let (admin, inherited) = split_inherited(inherited, &global);
        listeners.inherit(inherited);
        let annals = Arc::new(HistoryRecorder::new(state.clone()));
        let (orders, inbox) = packets::order::command_channel();
        let carrier = DataPlanes { proxy: Arc::clone(&plane), packets: orders.clone() };
        let engine: Arc<dyn TrafficEngine> = Arc::new(carrier);
        let config_file = file.clone();
        let parts =
            ActorParts { engine, listeners, workers, state, file, predecessor: before, events };
        let StartedControl { control, actor } = ControlActor::start(parts, change).await?;

        let pulse = vrrp::ControlPulse::new();
        let planes = RunningPlanes::start(&control, plane, orders, inbox, pulse.clone()).await;
        let admin = AdminSockets::new(admin);
        let sources =
            planes.report_sources(&control, &access, &prober, &annals, admin, global.sample);
        let vitals = Arc::new(ReportSources { activity, ..sources });
        let mut tasks = spawn_control_tasks(&control, actor, pulse, prober, &vitals);
        spawn_observers(&mut tasks, &control, &vitals, annals.state(), &annals);
        let RunningPlanes { proxy, packets, vrrp, egress, names } = planes;
        let (stop_sender, stop_receiver) = mpsc::channel(1);
        Ok(App {
            control,
            access_log: access,
            proxy,
            packets,
            vrrp,
            egress,
            names,
            vitals,
            history: annals,
            config_file,
            tasks,
            api: None,
            stop_sender,
            stop_receiver,
        })
    }

    /// Opens the API on the unix socket, if there is one, and over TCP where configured, and the metrics listener.
    pub fn serve_api(&mut self, bound: Option<BoundControlSocket>) {
        let stop_sender = self.stop_sender.clone();
        let live = Arc::new(LiveFeed::new(Arc::clone(&self.vitals)));
        self.tasks.spawn(Arc::clone(&live).run());
        let context = Arc::new(ApiContext {
            report_sources: Arc::clone(&self.vitals),
            live,
            history: Arc::clone(&self.history),
            vrrp: self.vrrp.commands(),
            lease_server: api_server::lease_server::LeaseServer::new(self.history.state()),
            idempotency: Arc::default(),
            config_file: self.config_file.clone(),
            // `try_send` fails only while an earlier request to stop is pending, which has the same effect.
            stop: Box::new(move |request| {
                let _ = stop_sender.try_send(request);
            }),
        });
        self.tasks.spawn(api_server::remote::run(Arc::clone(&context)));
        self.tasks.spawn(metrics::listen::run(Arc::clone(&self.vitals)));
        let Some(bound) = bound else { return };
        let (end, ended) = oneshot::channel::<()>();
        let events = self.control.events().clone();
        let until = async {
            // An error means that the sender was dropped, which is the same request to end.
            let _ = ended.await;
        };
        let task = tokio::spawn(async move {
            if let Err(error) = api_server::run(bound, context, until).await {
                events.error("api-failed", format!("the API is not served any more: {error}"));
            }
        });
        self.api = Some(ApiServerTask { end, task });
    }

    /// Waits until the API receives a request to stop the process.
    pub async fn wait_stop_request(&mut self) -> StopRequest {
        // We hold a sender ourselves: it is never closed.
        self.stop_receiver.recv().await.unwrap_or_default()
    }

    /// Waits until the packet plane runs, or has failed with its reason. Returns at once without packet services.
    pub fn wait_packet_plane(&self) -> impl Future<Output = ()> + use<> {
        self.packets.wait_settled()
    }

    pub fn probes(&self) -> ProbeSums {
        self.vitals.probes.totals()
    }

    /// Reports the connections that the previous process still drains.
    pub fn follow_predecessor(&mut self, pid: u32, line: UnixStream) {
        let shown = Arc::clone(&self.vitals.predecessor);
        let events = self.control.events().clone();
        self.tasks.spawn(async move { follow_predecessor(&shown, pid, line, events).await });
    }

    /// A counter of open connections, for use while the process stops.
    pub fn open_counter(&self) -> impl Fn() -> OpenCounts + use<> {
        let plane = Arc::downgrade(&self.proxy);
        move || plane.upgrade().map(|plane| plane.open_counts()).unwrap_or_default()
    }

    /// The sockets of the API over TCP and of the metrics.
    pub fn admin(&self) -> Arc<AdminSockets> {
        Arc::clone(&self.vitals.admin)
    }

    pub fn open_counts(&self) -> OpenCounts {
        self.proxy.open_counts()
    }

    /// Stops accepting, lets exchanges finish within the limit or until `cut` completes, then resets all connections.
    /// Returns how many connections were reset.
    pub async fn shut_down(
        mut self,
        how: ShutdownRequest,
        cut: impl Future<Output = ()>,
    ) -> OpenCounts {
        let control = self.control.clone();
        let detached = how.detach || how.handed_over;
        if how.handed_over {
            self.vitals.admin.stop_accepting();
        }
        // The process that takes over holds shared addresses on; otherwise another machine may have them at once.
        self.vrrp.shut_down(!how.handed_over).await;
        self.names.shut_down().await;
        // The process that takes over waits for the maps; packets go on meanwhile.
        if detached {
            self.packets.shut_down(packets::order::PlaneExit::Detach).await;
        }
        let mut left = OpenCounts::default();
        if let Ok(limit) = control.begin_shutdown(how).await {
            let deadline = Instant::now() + limit;
            tokio::select! {
                () = cut => {}
                () = self.wait_idle(deadline) => {}
            }
            left = self.proxy.open_counts();
            self.proxy.drain(Duration::ZERO);
            self.wait_idle(Instant::now() + RESET_GRACE).await;
        }
        if let Some(ApiServerTask { end, task }) = self.api.take() {
            // Fails when the API task has already ended. Answers that outlast the limit end with the process.
            let _ = end.send(());
            let _ = tokio::time::timeout(FINISH_GRACE, task).await;
        }
        // Egress routes are removed last: draining connections may still need them. A detached datapath continues to
        // forward, so its routes stay.
        self.egress.shut_down(!detached).await;
        self.packets.shut_down(packets::order::PlaneExit::Remove).await;
        self.tasks.shutdown().await;
        // If a reader still holds the plane, the workers end with the process.
        if let Ok(plane) = Arc::try_unwrap(self.proxy) {
            plane.stop();
        }
        self.access_log.stop(FINISH_GRACE);
        left
    }

    async fn wait_idle(&self, deadline: Instant) {
        let busy = || {
            let open = self.proxy.open_counts();
            open.connections > 0 || open.exchanges > 0
        };
        while busy() && Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
    }
}

fn start_access_log(
    global: &GlobalConfig,
    events: &EventLog,
) -> Result<Arc<AccessLogger>, access_log::AccessLogOpenError> {
    let notice = events.clone();
    let notice = Box::new(move |text: String| notice.warn("access-log", text));
    Ok(Arc::new(AccessLogger::start(&global.access_log.target, notice)?))
}

/// Splits the sockets of the previous process: those of the API over TCP and of the metrics, and those of services.
fn split_inherited(
    inherited: Vec<ListeningSocket>,
    global: &GlobalConfig,
) -> (Vec<ListeningSocket>, Vec<ListeningSocket>) {
    let metrics = global.metrics.as_ref().map(|metrics| metrics.listen);
    let api = global.control.remote.as_ref().map(|remote| remote.listen);
    let is_admin = |one: &ListeningSocket| [metrics, api].contains(&Some(one.address));
    inherited.into_iter().partition(is_admin)
}
