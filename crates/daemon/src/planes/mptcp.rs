//! Multipath TCP under the daemon: has the kernel's endpoints and limits as configured, and looks which subflows connections
//! have.
//!
//! Sockets speak it by themselves (`socket.mptcp`); what follows from what is found is decided by `links::mptcp`.

mod state_file;
pub mod view;

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use links::mptcp::state::MptcpLimits;
use links::mptcp::{self as words, MptcpEndpointEntry, MptcpFlow};
use links::uplink::source::InterfaceNetwork;
use model::config::{Config, EndpointPurpose, MptcpConfig};
use tokio::sync::{mpsc, oneshot, watch};

use crate::planes::uplinks::nfnetlink::exchange_messages;
use crate::planes::uplinks::rtnetlink::{RouteNetlink, UplinkInterface};
use crate::state::ControlHandle;
use crate::util::event::EventLog;
use state_file::MptcpStateFile;
use view::{MptcpConnectionView, MptcpEndpointView, MptcpView};

/// NETLINK_GENERIC and NETLINK_SOCK_DIAG of the kernel's uapi header linux/netlink.h.
const GENERIC: isize = 16;
const DIAGNOSE: isize = 4;
/// Between two looks: addresses come and go, connections too.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Connections that are shown with their subflows.
/// A page of `status`; counters have all connections.
const MAX_LISTED_CONNECTIONS: usize = 64;
/// How long others wait for the task to end.
const WAIT: Duration = Duration::from_secs(2);

/// The request to end the task.
#[derive(Debug)]
struct MptcpStop {
    /// Endpoints are removed and limits set back; otherwise they stay.
    give: bool,
    /// Told when the task has ended.
    done: oneshot::Sender<()>,
}

/// The task, as others see it.
#[derive(Debug)]
pub struct MptcpHandle {
    view: watch::Receiver<Arc<MptcpView>>,
    stop: mpsc::Sender<MptcpStop>,
}

impl MptcpHandle {
    /// Starts the task, which follows `control`.
    pub fn start(control: ControlHandle) -> MptcpHandle {
        let (end, ended) = mpsc::channel(1);
        let (show, view) = watch::channel(Arc::new(MptcpView::default()));
        tokio::spawn(run(control, ended, show));
        MptcpHandle { view, stop: end }
    }

    pub fn view(&self) -> watch::Receiver<Arc<MptcpView>> {
        self.view.clone()
    }

    /// Ends the task. `give`: endpoints are removed and limits set back; otherwise they stay.
    pub async fn shut_down(&self, give: bool) {
        let (done, told) = oneshot::channel();
        if self.stop.send(MptcpStop { give, done }).await.is_ok() {
            // After the limit the task is left behind and ends with the process.
            let _ = tokio::time::timeout(WAIT, told).await;
        }
    }
}

async fn run(
    control: ControlHandle,
    mut ended: mpsc::Receiver<MptcpStop>,
    show: watch::Sender<Arc<MptcpView>>,
) {
    let mut snapshots = control.watch();
    let events = control.events().clone();
    let mut life = MptcpTask {
        events,
        state_dir: None,
        saved_state: MptcpStateFile::default(),
        last_error: None,
    };
    let mut look = tokio::time::interval(POLL_INTERVAL);
    let mut alive = true;
    loop {
        tokio::select! {
            end = ended.recv() => {
                let Some(MptcpStop { give, done }) = end else { return };
                if give {
                    life.remove_endpoints();
                }
                let _ = done.send(());
                return;
            }
            changed = snapshots.changed(), if alive => alive = changed.is_ok(),
            _ = look.tick(), if life.is_needed(&snapshots.borrow().config) => {}
        }
        let config = Arc::clone(&snapshots.borrow_and_update().config);
        let view = life.apply_config(&config).await;
        show.send_replace(Arc::new(view));
    }
}

struct MptcpTask {
    events: EventLog,
    /// The directory of the state file; `None`: no configuration so far.
    state_dir: Option<PathBuf>,
    saved_state: MptcpStateFile,
    last_error: Option<String>,
}

impl MptcpTask {
    /// Whether endpoints or connections are to be looked at again.
    fn is_needed(&self, config: &Config) -> bool {
        config.mptcp.is_enabled() || has_mptcp_sockets(config) || !self.saved_state.is_empty()
    }

    async fn apply_config(&mut self, config: &Config) -> MptcpView {
        let state = &config.global.control.state;
        if self.state_dir.is_none() {
            // Endpoints and limits that an earlier process set, however it ended.
            self.saved_state = MptcpStateFile::read(state, &self.events);
        }
        self.state_dir = Some(state.clone());
        let wanted = config.mptcp.is_enabled();
        if !wanted {
            self.remove_endpoints();
        }
        let mut view = MptcpView::default();
        if wanted {
            match self.sync_endpoints(config).await {
                Ok(endpoints) => (view.endpoints, self.last_error) = (endpoints, None),
                Err(error) => {
                    let why = format!(
                        "no endpoint of Multipath TCP stands: {error}; it takes a kernel with MPTCP, `sysctl \
                         net.mptcp.enabled=1` and CAP_NET_ADMIN"
                    );
                    if self.last_error.as_ref() != Some(&why) {
                        self.events.warn("mptcp-trouble", why.clone());
                    }
                    self.last_error = Some(why);
                }
            }
        }
        if wanted || has_mptcp_sockets(config) {
            (view.count, view.connections) = connections().unwrap_or_default();
        }
        view.last_error = self.last_error.clone();
        view
    }

    /// Has the endpoints of this configuration.
    async fn sync_endpoints(&mut self, config: &Config) -> io::Result<Vec<MptcpEndpointView>> {
        let netlink = RouteNetlink::connect()?;
        // One after another: the kernel sends one list at a time.
        let interfaces = netlink.interfaces();
        let interfaces = interfaces.await?;
        let own = netlink.addresses();
        let wanted = wanted_endpoints(config, &interfaces, &own.await?);
        drop(netlink);
        let family = family()?;
        let taken = limits(family)?;
        let found = read_endpoints(family)?;
        let most = u32::from(config.mptcp.subflows);
        let wanted_limits = MptcpLimits { accepted_addresses: most, subflows: most };
        let words::EndpointPlan { steps, ours } =
            words::plan_endpoints(&wanted, &found, &self.saved_state.spots);
        let mut kept = self.saved_state.clone();
        kept.spots = ours;
        if taken != wanted_limits {
            kept.limits.get_or_insert(taken);
        }
        // The file is written first: endpoints that are set but not stored would look like those of other programs.
        self.save_state(kept);
        if taken != wanted_limits {
            exchange_messages(GENERIC, &[words::set_limits_request(family, wanted_limits)])?;
        }
        for step in &steps {
            exchange_messages(GENERIC, &[words::change_request(family, step)])?;
        }
        let ours = |spot: &MptcpEndpointEntry| self.saved_state.spots.contains(&spot.owned());
        let view =
            |spot: MptcpEndpointEntry| MptcpEndpointView { endpoint: spot, ours: ours(&spot) };
        Ok(read_endpoints(family)?.into_iter().map(view).collect())
    }

    fn save_state(&mut self, kept: MptcpStateFile) {
        if self.saved_state == kept {
            return;
        }
        self.saved_state = kept;
        let written = self.state_dir.as_ref().map_or(Ok(()), |state| self.saved_state.write(state));
        if let Err(error) = written {
            let text = format!("it cannot be kept which endpoints are ours: {error}");
            self.events.warn("mptcp-trouble", text);
        }
    }

    /// Removes everything that this daemon set.
    fn remove_endpoints(&mut self) {
        if self.saved_state.is_empty() {
            return;
        }
        let given = family().and_then(|family| {
            for step in
                &words::plan_endpoints(&[], &read_endpoints(family)?, &self.saved_state.spots).steps
            {
                exchange_messages(GENERIC, &[words::change_request(family, step)])?;
            }
            if let Some(limits) = self.saved_state.limits {
                exchange_messages(GENERIC, &[words::set_limits_request(family, limits)])?;
            }
            Ok(())
        });
        if let Err(error) = given {
            self.events.warn("mptcp-trouble", format!("endpoints are left: {error}"));
        }
        self.save_state(MptcpStateFile::default());
    }
}

fn has_mptcp_sockets(config: &Config) -> bool {
    config.services.values().any(|service| service.socket.mptcp)
        || config.pools.values().any(|pool| pool.socket.mptcp)
}

/// The endpoints that are wanted, on the machine as it is now: an address that is not there yet has none.
fn wanted_endpoints(
    config: &Config,
    interfaces: &HashMap<String, UplinkInterface>,
    own: &[InterfaceNetwork],
) -> Vec<MptcpEndpointEntry> {
    let MptcpConfig { bundle, endpoints, purpose, .. } = &config.mptcp;
    let number = |name: &String| interfaces.get(name).map(|interface| interface.ifindex);
    let spot = |ip: IpAddr, ifindex: u32, purpose: EndpointPurpose, backup: bool| {
        MptcpEndpointEntry { id: 0, ip, flags: words::endpoint_flags(purpose, backup), ifindex }
    };
    let mut spots = Vec::new();
    for one in endpoints.iter().filter(|one| own.iter().any(|own| own.ip == one.address)) {
        let ifindex = one.interface.as_ref().and_then(number).unwrap_or(0);
        spots.push(spot(one.address, ifindex, one.purpose, one.backup));
    }
    let links = bundle.as_ref().and_then(|name| config.links.get(name)).map(|bundle| &bundle.links);
    for ifindex in links.into_iter().flatten().filter_map(|link| number(link.interface.as_ref()?)) {
        let local = |ip: IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
        let of = own.iter().filter(|own| own.ifindex == ifindex && !local(own.ip));
        spots.extend(of.map(|own| spot(own.ip, ifindex, *purpose, false)));
    }
    spots
}

fn family() -> io::Result<u16> {
    let told = exchange_messages(GENERIC, &[words::family_request()])?;
    let found = told.iter().find_map(|body| words::parse_family(body));
    found.ok_or_else(|| io::Error::other("the kernel does not name its family"))
}

fn limits(family: u16) -> io::Result<MptcpLimits> {
    let told = exchange_messages(GENERIC, &[words::limits_request(family)])?;
    let found = told.iter().find_map(|body| words::parse_limits(body));
    found.ok_or_else(|| io::Error::other("the kernel does not tell its limits"))
}

fn read_endpoints(family: u16) -> io::Result<Vec<MptcpEndpointEntry>> {
    let told = exchange_messages(GENERIC, &[words::list_request(family)])?;
    Ok(told.iter().filter_map(|body| words::parse_endpoint(body)).collect())
}

/// How many connections there are in this network namespace, and the first with their subflows.
fn connections() -> io::Result<(usize, Vec<MptcpConnectionView>)> {
    let mut whole: Vec<MptcpFlow> = Vec::new();
    let mut parts: Vec<MptcpFlow> = Vec::new();
    for v6 in [false, true] {
        let told = exchange_messages(DIAGNOSE, &[words::connections_request(v6, true)])?;
        whole.extend(told.iter().filter_map(|body| words::parse_connection(body)));
    }
    let count = whole.len();
    whole.truncate(MAX_LISTED_CONNECTIONS);
    if !whole.is_empty() {
        for v6 in [false, true] {
            let told = exchange_messages(DIAGNOSE, &[words::connections_request(v6, false)])?;
            parts.extend(told.iter().filter_map(|body| words::parse_subflow(body)));
        }
    }
    let with = |flow: MptcpFlow| {
        let subflows = parts.iter().filter(|part| part.token == flow.token).copied().collect();
        MptcpConnectionView { summary: flow, subflows }
    };
    Ok((count, whole.into_iter().map(with).collect()))
}
