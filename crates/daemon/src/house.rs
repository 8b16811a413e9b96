//! Everything that runs, put together once: workers, listeners, probes, resolver, log, API, metrics.
//!
//! `run` and `embed` use it alike. Signals, systemd and upgrades are `run`'s.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use l7::{Open, Plane, PortUse, Resting};
use model::config::Global;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::access::{self, AccessLog};
use crate::acme;
use crate::alarm;
use crate::capture::Captures;
use crate::clock;
use crate::control::actor::{Actor, Parts};
use crate::control::{ApplyError, Change, Control, Leave};
use crate::event::Events;
use crate::history::Annals;
use crate::hook;
use crate::judge;
use crate::kept;
use crate::listeners::{Keeper, Kernel, Listeners};
use crate::metrics;
use crate::names;
use crate::outside::Ears;
use crate::packets;
use crate::probe;
use crate::probe::counts::ProbeSums;
use crate::reconcile::engine::Engine;
use crate::reconcile::memory::Memory;
use crate::report::sample::Samples;
use crate::report::vitals::Vitals;
use crate::resolve;
use crate::serve::{self, Asked, Context, bind::Bound, live::Live, ports::AdminSockets};
use crate::slow::{self, Slow};
use crate::source;
use crate::telemetry;
use crate::tls;
use crate::users;
use crate::vrrp;
use crate::ways::Ways;

mod carrier;
mod size;

use carrier::Carrier;

/// Between two looks at what is still open.
const LOOK: Duration = Duration::from_millis(20);
/// For the workers to end what is cut, so that it is counted and logged with its cause.
const CUT: Duration = Duration::from_secs(1);
/// For the API to finish answers, and for the log to be written, at the end.
const LAST: Duration = Duration::from_secs(2);

/// What a house is built from.
pub struct Plan {
    /// The configuration.
    pub change: Change,
    /// What belongs to the process, of that configuration.
    pub global: Global,
    /// Listening sockets of a process before, with the addresses that they were configured with.
    pub inherited: Vec<(SocketAddr, OwnedFd)>,
    /// What it remembered, and its generation.
    pub before: Option<(u64, Memory)>,
    /// Who keeps listening sockets over our death.
    pub keeper: Box<dyn Keeper>,
    /// Where generations and words are kept; `None`: nowhere.
    pub state: Option<PathBuf>,
    /// The file that orders are written back to; `None`: there is none.
    pub file: Option<PathBuf>,
    /// What the daemon says.
    pub events: Events,
}

/// Why a house was not built; what was begun has been undone.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The access log's target.
    #[error(transparent)]
    Access(#[from] access::OpenError),
    /// The probes.
    #[error("servers cannot be probed: {0}")]
    Probes(#[source] std::io::Error),
    /// The workers.
    #[error("the workers could not be started: {0}")]
    Plane(#[from] l7::StartError),
    /// The configuration.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// Everything that runs.
pub struct House {
    /// To ask for changes.
    pub control: Control,
    /// The access log.
    pub access: Arc<AccessLog>,
    plane: Arc<Plane>,
    packets: packets::Handle,
    vrrp: vrrp::Handle,
    ways: Ways,
    names: names::Handle,
    vitals: Arc<Vitals>,
    annals: Arc<Annals>,
    tasks: JoinSet<()>,
    api: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    asked: (mpsc::Sender<Asked>, mpsc::Receiver<Asked>),
}

impl House {
    /// Starts everything but the API. Traffic flows when this returns.
    ///
    /// # Errors
    /// See `BuildError`.
    pub async fn build(plan: Plan) -> Result<House, BuildError> {
        let Plan { change, global, inherited, before, keeper, state, file, events } = plan;
        let workers = size::workers(&global);
        let access = access_log(&global, &events)?;
        let (prober, observer) = probe::prober().map_err(BuildError::Probes)?;
        let ears = Ears::new(observer, Arc::clone(&access), events.clone());
        let plane = Arc::new(Plane::start(size::options(&global, workers), Arc::new(ears))?);
        let mut listeners = Listeners::new(Box::new(Kernel), keeper, workers);
        let (admin, inherited) = apart(inherited, &global);
        listeners.inherit(inherited);
        let annals = Arc::new(Annals::new(state.clone()));
        let (orders, inbox) = packets::order::orders();
        let carrier = Carrier { plane: Arc::clone(&plane), packets: orders.clone() };
        let engine: Arc<dyn Engine> = Arc::new(carrier);
        let parts = Parts { engine, listeners, workers, state, file, before, events };
        let (control, actor) = Actor::begin(parts, change).await?;

        let packets = packets::Handle::start(control.clone(), (orders, inbox));
        let pulse = vrrp::Pulse::new();
        let vrrp =
            vrrp::Handle::start(control.clone(), pulse.clone(), (packets.view(), packets.source()));
        let ways = Ways::start(&control);
        let mut names = names::Handle::start(control.clone());
        names.settled().await;
        let vitals = Arc::new(Vitals {
            control: control.clone(),
            ports: ports_of(&plane),
            rest: rest_of(&plane),
            open: open_of(&plane),
            access: Arc::clone(&access),
            probes: Arc::clone(&prober.counts),
            board: Arc::clone(&prober.board),
            packets: packets.view(),
            vrrp: vrrp.view(),
            links: ways.links.view(),
            uplinks: ways.uplinks.view(),
            mptcp: ways.mptcp.view(),
            names: names.shared(),
            weighed: Arc::default(),
            slow: Arc::new(Slow::new(plane.measured(), global.sample)),
            refused: plane.refused(),
            insight: packets.insight(),
            users: Arc::default(),
            ordered: Arc::default(),
            kept: Arc::default(),
            captures: Captures::new(annals.state(), control.events().clone()),
            told: Arc::default(),
            headroom: Arc::default(),
            samples: Samples::default(),
            served: Arc::default(),
            admin: Arc::new(AdminSockets::new(admin)),
            before: Arc::default(),
        });
        let mut tasks = begin(&control, (actor, pulse, prober), &vitals);
        follow(&mut tasks, &control, (&vitals, annals.state()), &annals);
        Ok(House {
            control,
            access,
            plane,
            packets,
            vrrp,
            ways,
            names,
            vitals,
            annals,
            tasks,
            api: None,
            asked: mpsc::channel(1),
        })
    }

    /// Opens the API to whoever may use the socket, if there is one, over TCP where configured, and the metrics.
    pub fn serve(&mut self, bound: Option<Bound>) {
        let asked = self.asked.0.clone();
        let live = Arc::new(Live::new(Arc::clone(&self.vitals)));
        self.tasks.spawn(Arc::clone(&live).run());
        let context = Arc::new(Context {
            vitals: Arc::clone(&self.vitals),
            live,
            annals: Arc::clone(&self.annals),
            vrrp: self.vrrp.orders(),
            lessor: serve::lessor::Lessor::new(self.annals.state()),
            once: Arc::default(),
            // Being asked twice is being asked.
            stop: Box::new(move |ask| {
                let _ = asked.try_send(ask);
            }),
        });
        self.tasks.spawn(serve::remote::run(Arc::clone(&context)));
        self.tasks.spawn(metrics::listen::run(Arc::clone(&self.vitals)));
        let Some(bound) = bound else { return };
        let (end, ended) = oneshot::channel::<()>();
        let events = self.control.events().clone();
        let until = async {
            let _ = ended.await;
        };
        let api = tokio::spawn(async move {
            if let Err(error) = serve::run(bound, context, until).await {
                events.error("api-failed", format!("the API is not served any more: {error}"));
            }
        });
        self.api = Some((end, api));
    }

    /// Waits until somebody asks, by the API, that the process leave.
    pub async fn asked_to_leave(&mut self) -> Asked {
        // We hold a sender ourselves: it is never closed.
        self.asked.1.recv().await.unwrap_or_default()
    }

    /// Waits until the packet plane stands, or is refused with its reason; without packet services at once.
    pub fn packets_settled(&self) -> impl Future<Output = ()> + use<> {
        self.packets.settled()
    }

    /// Probes by result.
    pub fn probes(&self) -> ProbeSums {
        self.vitals.probes.read()
    }

    /// Shows what the process has still that handed over to this one.
    pub fn follow_predecessor(&mut self, pid: u32, line: UnixStream) {
        let (shown, events) = (Arc::clone(&self.vitals.before), self.control.events().clone());
        self.tasks.spawn(async move { shown.follow(pid, line, events).await });
    }

    /// What is open, for who looks while it leaves.
    pub fn counter(&self) -> impl Fn() -> Open + use<> {
        let plane = Arc::downgrade(&self.plane);
        move || plane.upgrade().map(|plane| plane.open()).unwrap_or_default()
    }

    /// The sockets of the API over TCP and of the metrics.
    pub fn admin(&self) -> Arc<AdminSockets> {
        Arc::clone(&self.vitals.admin)
    }

    /// What is open now.
    pub fn open(&self) -> Open {
        self.plane.open()
    }

    /// Stops accepting, lets exchanges finish within the limit or until `cut` is done, ends everything. Returns what
    /// was cut.
    pub async fn leave(mut self, how: Leave, cut: impl Future<Output = ()>) -> Open {
        let control = self.control.clone();
        let detached = how.detach || how.handed;
        if how.handed {
            self.vitals.admin.close();
        }
        // The process that takes over holds shared addresses on; otherwise another machine may have them at once.
        self.vrrp.end(!how.handed).await;
        self.names.end().await;
        // The process that takes over waits for the maps; packets go on meanwhile.
        if detached {
            self.packets.end(packets::order::End::Detach).await;
        }
        let mut left = Open::default();
        if let Ok(limit) = control.leave(how).await {
            let deadline = Instant::now() + limit;
            tokio::select! {
                () = cut => {}
                () = self.empty(deadline) => {}
            }
            left = self.plane.open();
            self.plane.drain(Duration::ZERO);
            self.empty(Instant::now() + CUT).await;
        }
        if let Some((end, api)) = self.api.take() {
            let _ = end.send(());
            let _ = tokio::time::timeout(LAST, api).await;
        }
        // Last, for whoever was served may be at its far end. Detached, packets flow on as they do.
        self.ways.end(!detached).await;
        self.packets.end(packets::order::End::Remove).await;
        self.tasks.shutdown().await;
        // When somebody is looking at it this moment, the workers end with the process.
        if let Ok(plane) = Arc::try_unwrap(self.plane) {
            plane.stop();
        }
        self.access.stop(LAST);
        left
    }

    async fn empty(&self, deadline: Instant) {
        let busy = || {
            let open = self.plane.open();
            open.connections > 0 || open.exchanges > 0
        };
        while busy() && Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Work that the rest stands on: what changes things, and what finds out how servers are and what that makes of them.
fn begin(
    control: &Control,
    (actor, pulse, prober): (Actor, vrrp::Pulse, probe::Prober),
    vitals: &Vitals,
) -> JoinSet<()> {
    let (board, weighed) = (Arc::clone(&vitals.board), Arc::clone(&vitals.weighed));
    let mut tasks = JoinSet::new();
    tasks.spawn(actor.run());
    tasks.spawn(pulse.run());
    tasks.spawn(prober.run(control.clone()));
    tasks.spawn(judge::run(control.clone(), board, weighed, vitals.packets.clone()));
    tasks
}

/// Work that follows the pictures, or looks again each while, and is asked nothing.
fn follow(
    tasks: &mut JoinSet<()>,
    control: &Control,
    (vitals, state): (&Arc<Vitals>, Option<PathBuf>),
    annals: &Arc<Annals>,
) {
    tasks.spawn(acme::run(control.clone(), Arc::clone(&vitals.ordered), state));
    let weighed = Arc::clone(&vitals.weighed);
    tasks.spawn(judge::eject::run(control.clone(), weighed, probe::seed::seed()));
    tasks.spawn(resolve::run(control.clone()));
    tasks.spawn(clock::run(control.clone()));
    tasks.spawn(source::run(control.clone()));
    tasks.spawn(hook::run(control.clone()));
    tasks.spawn(alarm::run(Arc::clone(vitals)));
    tasks.spawn(Arc::clone(annals).run(Arc::clone(vitals)));
    tasks.spawn(tls::watch::run(control.clone()));
    tasks.spawn(access::follow(control.clone(), Arc::clone(&vitals.access)));
    tasks.spawn(slow::gather::run(Arc::clone(vitals)));
    tasks.spawn(telemetry::letters::run(Arc::clone(vitals)));
    tasks.spawn(kept::run(Arc::clone(vitals)));
    tasks.spawn(users::gather::run(Arc::clone(vitals), Arc::clone(annals)));
    tasks.spawn(Arc::clone(vitals).run_samples());
}

fn access_log(global: &Global, events: &Events) -> Result<Arc<AccessLog>, access::OpenError> {
    let notice = events.clone();
    let notice = Box::new(move |text: String| notice.warn("access-log", text));
    Ok(Arc::new(AccessLog::start(&global.access_log.target, notice)?))
}

/// A listening socket with its address.
type BoundSocket = (SocketAddr, OwnedFd);

/// Sockets of a process before: those of the API over TCP and of the metrics, and those of services.
fn apart(inherited: Vec<BoundSocket>, global: &Global) -> (Vec<BoundSocket>, Vec<BoundSocket>) {
    let metrics = global.metrics.as_ref().map(|metrics| metrics.listen);
    let api = global.control.remote.as_ref().map(|remote| remote.listen);
    inherited.into_iter().partition(|(at, _)| Some(*at) == metrics || Some(*at) == api)
}

/// Readers that keep no plane alive.
fn ports_of(plane: &Arc<Plane>) -> Box<dyn Fn() -> Vec<PortUse> + Send + Sync> {
    let plane = Arc::downgrade(plane);
    Box::new(move || plane.upgrade().map(|plane| plane.ports()).unwrap_or_default())
}

fn open_of(plane: &Arc<Plane>) -> Box<dyn Fn() -> Open + Send + Sync> {
    let plane = Arc::downgrade(plane);
    Box::new(move || plane.upgrade().map(|plane| plane.open()).unwrap_or_default())
}

fn rest_of(plane: &Arc<Plane>) -> Box<dyn Fn(&Resting) + Send + Sync> {
    let plane = Arc::downgrade(plane);
    Box::new(move |resting| plane.upgrade().iter().for_each(|plane| plane.rest(resting)))
}
