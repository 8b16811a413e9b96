//! Multipath TCP under the daemon: has the kernel's endpoints and limits as configured, and looks which subflows connections
//! have.
//!
//! Sockets speak it by themselves (`socket.mptcp`); what follows from what is found is decided by `links::mptcp`.

mod kept;
pub mod view;

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use links::mptcp::{self as words, Flow, Spot};
use links::uplink::source::Own;
use model::config::{Config, Mptcp, Purpose};
use tokio::sync::{mpsc, oneshot, watch};

use crate::control::Control;
use crate::event::Events;
use crate::uplinks::routes::{Interface, Netlink};
use crate::uplinks::talk::talk;
use kept::Kept;
use view::{Connection, EndpointView, View};

/// `NETLINK_GENERIC`, `NETLINK_SOCK_DIAG`.
const GENERIC: isize = 16;
const DIAGNOSE: isize = 4;
/// Between two looks: addresses come and go, connections too.
const LOOK: Duration = Duration::from_secs(1);
/// Connections that are shown with their subflows.
const SHOWN: usize = 64;
/// How long others wait for the task to end.
const WAIT: Duration = Duration::from_secs(2);

/// The task, as others see it.
#[derive(Debug)]
pub struct Handle {
    view: watch::Receiver<Arc<View>>,
    end: mpsc::Sender<(bool, oneshot::Sender<()>)>,
}

impl Handle {
    /// Starts the task, which follows `control`.
    pub fn start(control: Control) -> Handle {
        let (end, ended) = mpsc::channel(1);
        let (show, view) = watch::channel(Arc::new(View::default()));
        tokio::spawn(run(control, ended, show));
        Handle { view, end }
    }

    /// How things stand.
    pub fn view(&self) -> watch::Receiver<Arc<View>> {
        self.view.clone()
    }

    /// Ends the task. `give`: endpoints are removed and limits set back; otherwise they stay.
    pub async fn end(&self, give: bool) {
        let (done, told) = oneshot::channel();
        if self.end.send((give, done)).await.is_ok() {
            let _ = tokio::time::timeout(WAIT, told).await;
        }
    }
}

async fn run(
    control: Control,
    mut ended: mpsc::Receiver<(bool, oneshot::Sender<()>)>,
    show: watch::Sender<Arc<View>>,
) {
    let mut pictures = control.watch();
    let events = control.events().clone();
    let mut life = Life { events, state: None, kept: Kept::default(), trouble: None };
    let mut look = tokio::time::interval(LOOK);
    let mut alive = true;
    loop {
        tokio::select! {
            end = ended.recv() => {
                let Some((give, done)) = end else { return };
                if give {
                    life.give();
                }
                let _ = done.send(());
                return;
            }
            changed = pictures.changed(), if alive => alive = changed.is_ok(),
            _ = look.tick() => {}
        }
        let config = Arc::clone(&pictures.borrow_and_update().config);
        let view = life.follow(&config).await;
        show.send_replace(Arc::new(view));
    }
}

struct Life {
    events: Events,
    /// Where it is kept what was set; `None`: no configuration was seen yet.
    state: Option<PathBuf>,
    kept: Kept,
    trouble: Option<String>,
}

impl Life {
    async fn follow(&mut self, config: &Config) -> View {
        let state = &config.global.control.state;
        if self.state.is_none() {
            // What a process before set, which may have ended in any way.
            self.kept = Kept::read(state, &self.events);
        }
        self.state = Some(state.clone());
        let wanted = config.mptcp.wanted();
        if !wanted {
            self.give();
        }
        let mut view = View::default();
        if wanted {
            match self.stand(config).await {
                Ok(endpoints) => (view.endpoints, self.trouble) = (endpoints, None),
                Err(error) => {
                    let why = format!(
                        "no endpoint of Multipath TCP stands: {error}; it takes a kernel with MPTCP, `sysctl \
                         net.mptcp.enabled=1` and CAP_NET_ADMIN"
                    );
                    if self.trouble.as_ref() != Some(&why) {
                        self.events.warn("mptcp-trouble", why.clone());
                    }
                    self.trouble = Some(why);
                }
            }
        }
        let speaks = config.services.values().any(|service| service.socket.mptcp)
            || config.pools.values().any(|pool| pool.socket.mptcp);
        if wanted || speaks {
            (view.count, view.connections) = connections().unwrap_or_default();
        }
        view.trouble = self.trouble.clone();
        view
    }

    /// Has the endpoints of this configuration.
    async fn stand(&mut self, config: &Config) -> io::Result<Vec<EndpointView>> {
        let netlink = Netlink::connect()?;
        // One after the other: the kernel tells one list at a time.
        let interfaces = netlink.interfaces();
        let interfaces = interfaces.await?;
        let own = netlink.addresses();
        let wanted = spots(config, &interfaces, &own.await?);
        drop(netlink);
        let family = family()?;
        let (taken, found) = (limits(family)?, there(family)?);
        let most = u32::from(config.mptcp.subflows);
        let words::Plan { steps, ours } = words::plan(&wanted, &found, &self.kept.spots);
        let mut kept = self.kept.clone();
        kept.spots = ours;
        if taken != (most, most) {
            kept.limits.get_or_insert(taken);
        }
        // First: of what is set and not kept nobody knows whose it is.
        self.keep(kept);
        if taken != (most, most) {
            talk(GENERIC, &[words::limit(family, (most, most))])?;
        }
        for step in &steps {
            talk(GENERIC, &[words::change(family, step)])?;
        }
        let ours = |spot: &Spot| self.kept.spots.contains(&(spot.id, spot.ip));
        let view = |spot: Spot| EndpointView { spot, ours: ours(&spot) };
        Ok(there(family)?.into_iter().map(view).collect())
    }

    fn keep(&mut self, kept: Kept) {
        if self.kept == kept {
            return;
        }
        self.kept = kept;
        let written = self.state.as_ref().map_or(Ok(()), |state| self.kept.write(state));
        if let Err(error) = written {
            let text = format!("it cannot be kept which endpoints are ours: {error}");
            self.events.warn("mptcp-trouble", text);
        }
    }

    /// Gives everything up that a process of ours set.
    fn give(&mut self) {
        if self.kept.is_empty() {
            return;
        }
        let given = family().and_then(|family| {
            for step in &words::plan(&[], &there(family)?, &self.kept.spots).steps {
                talk(GENERIC, &[words::change(family, step)])?;
            }
            if let Some(limits) = self.kept.limits {
                talk(GENERIC, &[words::limit(family, limits)])?;
            }
            Ok(())
        });
        if let Err(error) = given {
            self.events.warn("mptcp-trouble", format!("endpoints are left: {error}"));
        }
        self.keep(Kept::default());
    }
}

/// The endpoints that are wanted, on the machine as it is now: an address that is not there yet has none.
fn spots(config: &Config, interfaces: &HashMap<String, Interface>, own: &[Own]) -> Vec<Spot> {
    let Mptcp { bundle, endpoints, purpose, .. } = &config.mptcp;
    let number = |name: &String| interfaces.get(name).map(|interface| interface.ifindex);
    let spot = |ip: IpAddr, ifindex: u32, purpose: Purpose, backup: bool| Spot {
        id: 0,
        ip,
        flags: words::flags(purpose, backup),
        ifindex,
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
    let told = talk(GENERIC, &[words::family()])?;
    let found = told.iter().find_map(|(_, body)| words::family_of(body));
    found.ok_or_else(|| io::Error::other("the kernel does not name its family"))
}

fn limits(family: u16) -> io::Result<(u32, u32)> {
    let told = talk(GENERIC, &[words::limits(family)])?;
    let found = told.iter().find_map(|(_, body)| words::limits_of(body));
    found.ok_or_else(|| io::Error::other("the kernel does not tell its limits"))
}

fn there(family: u16) -> io::Result<Vec<Spot>> {
    let told = talk(GENERIC, &[words::list(family)])?;
    Ok(told.iter().filter_map(|(_, body)| words::spot(body)).collect())
}

/// How many connections there are in this network namespace, and the first with their subflows.
fn connections() -> io::Result<(usize, Vec<Connection>)> {
    let mut whole: Vec<Flow> = Vec::new();
    let mut parts: Vec<Flow> = Vec::new();
    for v6 in [false, true] {
        let told = talk(DIAGNOSE, &[words::connections(v6, true)])?;
        whole.extend(told.iter().filter_map(|(_, body)| words::connection_of(body)));
    }
    let count = whole.len();
    whole.truncate(SHOWN);
    if !whole.is_empty() {
        for v6 in [false, true] {
            let told = talk(DIAGNOSE, &[words::connections(v6, false)])?;
            parts.extend(told.iter().filter_map(|(_, body)| words::subflow_of(body)));
        }
    }
    let with = |flow: Flow| {
        let subflows = parts.iter().filter(|part| part.token == flow.token).copied().collect();
        Connection { whole: flow, subflows }
    };
    Ok((count, whole.into_iter().map(with).collect()))
}
