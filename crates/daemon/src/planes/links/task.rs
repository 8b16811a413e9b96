//! The main loop of the bundles' thread: what it waits for, and what follows in which order.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bpf::PinDirectory;
use files::plain_error::plain_error_text;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use l4::next_hops::NextHopLink;
use links::datapath::BundleDatapath;
use model::config::Config;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

use super::bundle::{ActiveBundle, BundleContext};
use super::device::BundleNetlink;
use super::prober::FarEndMessage;
use super::view::LinksView;
use crate::planes::packets::netlink::{KernelNetlink, NetlinkChange};
use crate::planes::packets::open_plane::error_chain;
use crate::state::{ControlHandle, StateSnapshot};
use crate::util::bpf_pins;
use crate::util::event::EventLog;
use crate::util::monotonic_clock::monotonic_now;

/// The interval between checks of carriers: the kernel may report a lost one up to a second later (`linkwatch`).
const LOOK: Duration = Duration::from_millis(10);
/// The interval between reads of counters and checks of devices.
/// Four times a second is as often as people can follow.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(250);
/// Answers that may wait; more stay in the sockets, and are lost there.
const MESSAGE_QUEUE: usize = 256;

/// The thread is to end.
#[derive(Debug)]
pub(super) struct LinksShutdown {
    pub remove_devices: bool,
    /// When it is done.
    pub done: oneshot::Sender<()>,
}

/// Follows snapshots until it is stopped.
pub(super) async fn run(
    control: ControlHandle,
    mut ended: mpsc::Receiver<LinksShutdown>,
    show: watch::Sender<Arc<LinksView>>,
) {
    let mut snapshots = control.watch();
    let (to, mut heard) = mpsc::channel(MESSAGE_QUEUE);
    let mut life = LinksTask::new(control.events().clone(), to);
    let mut look = tokio::time::interval(LOOK);
    let mut tell = tokio::time::interval(PUBLISH_INTERVAL);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tell.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut alive = true;
    let mut stale = true;
    // The kernel may be busy for long; questions to next hops go on while it is waited for.
    let mut asked: Option<InterfaceQuery> = None;
    loop {
        tokio::select! {
            end = ended.recv() => {
                let Some(LinksShutdown { remove_devices, done }) = end else { return };
                if remove_devices {
                    life.shut_down().await;
                }
                show.send_replace(Arc::new(LinksView::default()));
                let _ = done.send(());
                return;
            }
            answer = heard.recv() => if let Some(answer) = answer { life.handle_message(&answer) },
            changed = snapshots.changed(), if alive => (alive, stale) = (changed.is_ok(), true),
            news = life.news() => stale |= life.learn(news),
            found = wait_query(&mut asked) => {
                let snapshot = snapshots.borrow().clone();
                life.follow(&snapshot, found).await;
                show.send_replace(Arc::new(life.view()));
            }
            _ = look.tick(), if life.busy() => life.tick().await,
            _ = tell.tick(), if life.busy() => {
                stale |= life.unsettled();
                show.send_replace(Arc::new(life.view()));
            }
        }
        if stale && asked.is_none() {
            let snapshot = snapshots.borrow_and_update().clone();
            asked = life.query_interfaces(&snapshot);
            show.send_replace(Arc::new(life.view()));
            stale = false;
        }
    }
}

/// A pending query for all interfaces.
type InterfaceQuery = BoxFuture<'static, io::Result<HashMap<u32, NextHopLink>>>;

/// Waits for the pending query; for ever if there is none.
async fn wait_query(asked: &mut Option<InterfaceQuery>) -> io::Result<HashMap<u32, NextHopLink>> {
    let Some(waiting) = asked else { return std::future::pending().await };
    let found = waiting.await;
    *asked = None;
    found
}

/// Connections to the kernel.
struct LinksNetlink {
    /// For questions to the kernel.
    kernel: KernelNetlink,
    /// For the bundles' devices.
    netlink: BundleNetlink,
}

/// The loaded BPF programs with the directory that has their pins.
struct OpenBundlePlane {
    plane: BundleDatapath,
    pin_directory: PinDirectory,
}

struct LinksTask {
    events: EventLog,
    kernel: Option<LinksNetlink>,
    plane: Option<OpenBundlePlane>,
    bundles: BTreeMap<String, ActiveBundle>,
    links: HashMap<u32, NextHopLink>,
    messages: mpsc::Sender<FarEndMessage>,
    broken: Option<String>,
}

impl LinksTask {
    fn new(events: EventLog, heard: mpsc::Sender<FarEndMessage>) -> LinksTask {
        let bundles = BTreeMap::new();
        let links = HashMap::new();
        LinksTask {
            events,
            kernel: None,
            plane: None,
            bundles,
            links,
            messages: heard,
            broken: None,
        }
    }

    fn busy(&self) -> bool {
        !self.bundles.is_empty()
    }

    /// Whether something that should stand does not.
    fn unsettled(&self) -> bool {
        self.kernel.is_none() || self.plane.is_none() || self.broken.is_some()
    }

    async fn news(&mut self) -> Option<NetlinkChange> {
        match &mut self.kernel {
            Some(connected) => connected.kernel.next_change().await,
            None => std::future::pending().await,
        }
    }

    /// Whether the interfaces must be queried.
    fn learn(&mut self, news: Option<NetlinkChange>) -> bool {
        if news.is_none() {
            // The connection is lost, so it is reopened.
            self.kernel = None;
        }
        !matches!(news, Some(NetlinkChange::Neighbour(..)))
    }

    /// Opens the resources that this snapshot needs and queries interfaces, if the snapshot has bundles or had some.
    fn query_interfaces(&mut self, snapshot: &StateSnapshot) -> Option<InterfaceQuery> {
        let config = &snapshot.config;
        if config.links.is_empty() && self.bundles.is_empty() {
            return None;
        }
        match self.open(config) {
            Ok(asked) => Some(asked),
            Err(why) => {
                self.fail(config, why);
                None
            }
        }
    }

    fn fail(&mut self, config: &Config, why: String) {
        let why = plain_error_text(why);
        if self.broken.as_ref() != Some(&why) {
            self.events.warn("bundle-trouble", format!("no bundle stands: {why}"));
        }
        self.broken = Some(why);
        for (name, wanted) in &config.links {
            let new = || ActiveBundle::new(Arc::clone(wanted));
            self.bundles.entry(name.clone()).or_insert_with(new);
        }
    }

    /// Has the bundles of this snapshot, each on its links as they are now.
    async fn follow(
        &mut self,
        snapshot: &StateSnapshot,
        found: io::Result<HashMap<u32, NextHopLink>>,
    ) {
        let config = &snapshot.config;
        match found {
            Ok(links) => self.links = links,
            Err(error) => return self.fail(config, error_chain(&error)),
        }
        self.broken = None;
        let mut bundles = std::mem::take(&mut self.bundles);
        let Some(tools) = self.tools() else { return };
        let gone: Vec<String> =
            bundles.keys().filter(|name| !config.links.contains_key(*name)).cloned().collect();
        for name in gone {
            if let Some(mut bundle) = bundles.remove(&name) {
                bundle.remove_device(&tools).await;
            }
        }
        for (name, wanted) in &config.links {
            let new = || ActiveBundle::new(Arc::clone(wanted));
            let bundle = bundles.entry(name.clone()).or_insert_with(new);
            if bundle.config != *wanted {
                bundle.update_config(wanted, &tools).await;
            }
            bundle.ensure_device(&tools).await;
        }
        self.bundles = bundles;
        if config.links.is_empty() {
            self.close();
        }
    }

    /// Opens missing resources, and queries interfaces.
    fn open(&mut self, config: &Config) -> Result<InterfaceQuery, String> {
        let said = |error: &dyn std::error::Error| error_chain(error);
        if self.plane.is_none() {
            let pin_directory =
                bpf_pins::PinnedPlane::Links.claim(config).map_err(|error| said(&error))?;
            let plane = BundleDatapath::open(&pin_directory).map_err(|error| said(&error))?;
            bpf_pins::PinnedPlane::Links.warn_if_not_persistent(&pin_directory, &self.events);
            self.plane = Some(OpenBundlePlane { plane, pin_directory });
        }
        let connected = match &mut self.kernel {
            Some(connected) => connected,
            none => {
                let kernel = KernelNetlink::connect().map_err(|error| said(&error))?;
                let netlink = BundleNetlink::connect().map_err(|error| said(&error))?;
                none.insert(LinksNetlink { kernel, netlink })
            }
        };
        Ok(connected.kernel.links().boxed())
    }

    fn handle_message(&mut self, heard: &FarEndMessage) {
        let mut bundles = std::mem::take(&mut self.bundles);
        if let Some(tools) = self.tools() {
            // Answers to a socket that has been closed meanwhile are ignored.
            let _ = bundles.values_mut().any(|bundle| bundle.handle_message(heard, &tools));
        }
        self.bundles = bundles;
    }

    async fn tick(&mut self) {
        let mut bundles = std::mem::take(&mut self.bundles);
        if let Some(tools) = self.tools() {
            for bundle in bundles.values_mut() {
                bundle.tick(monotonic_now(), &tools).await;
            }
        }
        self.bundles = bundles;
    }

    /// Gives everything up and leaves no trace.
    async fn shut_down(&mut self) {
        let mut bundles = std::mem::take(&mut self.bundles);
        if let Some(tools) = self.tools() {
            for bundle in bundles.values_mut() {
                bundle.remove_device(&tools).await;
            }
        }
        self.close();
    }

    fn close(&mut self) {
        if let Some(OpenBundlePlane { plane, pin_directory }) = self.plane.take() {
            drop(plane);
            if let Err(error) = pin_directory.clear() {
                self.events.warn("bundle-trouble", error_chain(&error));
            }
        }
    }

    fn tools(&self) -> Option<BundleContext<'_>> {
        let LinksNetlink { kernel, netlink } = self.kernel.as_ref()?;
        let plane = &self.plane.as_ref()?.plane;
        let events = &self.events;
        let links = &self.links;
        let heard = &self.messages;
        Some(BundleContext { kernel, netlink, plane, events, links, messages: heard })
    }

    fn view(&self) -> LinksView {
        let plane = self.plane.as_ref().map(|open| &open.plane);
        let bundles = self.bundles.iter().map(|(name, one)| (name.clone(), one.view(plane)));
        LinksView { bundles: bundles.collect(), broken: self.broken.clone() }
    }
}
