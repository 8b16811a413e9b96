//! The main loop of the uplinks' thread: what it waits for, and what follows in which order.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use files::plain_error::plain_error_text;
use links::uplink::packet_mark::UplinkNumbers;
use links::uplink::uplink_wheel::{UplinkCandidate, UplinkWheel};
use model::config::{Config, UplinksConfig};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

use super::kernel_state::{UplinkKernelState, build_wheel, mark_bits};
use super::path::MonitoredUplink;
use super::prober::UplinkProbeReply;
use super::rtnetlink::{RouteChange, RouteNetlink};
use super::view::{UplinkPathView, UplinksView};
use crate::state::ControlHandle;
use crate::util::bpf_pins;
use crate::util::event::EventLog;
use crate::util::monotonic_clock::monotonic_now;

/// The interval between checks for due probes.
/// Probes may be due every 20 ms at the least.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// The interval between reads of counters and checks of installed rules.
/// Four times a second is as often as people can follow.
const SHOW: Duration = Duration::from_millis(250);
/// After this many intervals, ten seconds, everything is compared with the kernel. Another program may have changed the
/// rules without a notification that was read.
const DOUBT: u32 = 40;
/// Answers that may wait; more stay in the sockets, and are lost there.
const REPLY_QUEUE: usize = 256;

/// The thread is to end.
#[derive(Debug)]
pub(super) struct UplinksShutdown {
    /// Rules, routes and programs are removed.
    pub remove_routes: bool,
    /// When it is done.
    pub done: oneshot::Sender<()>,
}

/// Follows snapshots until it is stopped.
pub(super) async fn run(
    control: ControlHandle,
    mut ended: mpsc::Receiver<UplinksShutdown>,
    show: watch::Sender<Arc<UplinksView>>,
) {
    let mut snapshots = control.watch();
    let (to, mut heard) = mpsc::channel(REPLY_QUEUE);
    let mut life = UplinksTask::new(control.events().clone(), to);
    let mut look = tokio::time::interval(POLL_INTERVAL);
    let mut tell = tokio::time::interval(SHOW);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tell.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut alive = true;
    let mut stale = true;
    let mut looks = 0_u32;
    loop {
        tokio::select! {
            end = ended.recv() => {
                let Some(UplinksShutdown { remove_routes, done }) = end else { return };
                if remove_routes {
                    life.shut_down().await;
                }
                show.send_replace(Arc::new(UplinksView::default()));
                let _ = done.send(());
                return;
            }
            answer = heard.recv() => if let Some(answer) = answer { life.handle_reply(&answer) },
            changed = snapshots.changed(), if alive => (alive, stale) = (changed.is_ok(), true),
            () = life.wait_change() => stale = true,
            _ = look.tick(), if life.is_busy() => life.tick().await,
            _ = tell.tick(), if life.is_busy() => {
                looks += 1;
                if looks.is_multiple_of(DOUBT) {
                    life.kernel_state.invalidate();
                }
                stale |= life.is_unsettled() || looks.is_multiple_of(DOUBT);
                show.send_replace(Arc::new(life.view()));
            }
        }
        if std::mem::take(&mut stale) {
            let config = Arc::clone(&snapshots.borrow_and_update().config);
            life.apply_config(&config).await;
            show.send_replace(Arc::new(life.view()));
        }
    }
}

/// What decides whether an uplink gets connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UplinkVerdict {
    up: bool,
    is_usable: bool,
}

struct UplinksTask {
    events: EventLog,
    netlink: Option<RouteNetlink>,
    marks: UplinkNumbers,
    paths: Vec<MonitoredUplink>,
    config: Option<UplinksConfig>,
    /// The directory of BPF pins.
    pin_directory: Option<PathBuf>,
    kernel_state: UplinkKernelState,
    verdicts: Vec<UplinkVerdict>,
    replies: mpsc::Sender<UplinkProbeReply>,
    last_errors: Vec<String>,
}

impl UplinksTask {
    fn new(events: EventLog, heard: mpsc::Sender<UplinkProbeReply>) -> UplinksTask {
        UplinksTask {
            events,
            netlink: None,
            marks: UplinkNumbers::default(),
            paths: Vec::new(),
            config: None,
            pin_directory: None,
            kernel_state: UplinkKernelState::default(),
            verdicts: Vec::new(),
            replies: heard,
            last_errors: Vec::new(),
        }
    }

    fn has_pins(&self) -> bool {
        self.pin_directory.as_ref().is_some_and(|pins| pins.exists())
    }

    fn is_busy(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Whether something that should stand does not.
    fn is_unsettled(&self) -> bool {
        self.netlink.is_none()
            || !self.last_errors.is_empty()
            || self.paths.iter().any(|path| path.source.is_none())
    }

    /// Interfaces or addresses changed, or the connection was lost and another one is to be made.
    async fn wait_change(&mut self) {
        match &mut self.netlink {
            Some(netlink) => match netlink.next_change().await {
                Some(RouteChange::Interfaces) => {}
                Some(RouteChange::Ours) => self.kernel_state.invalidate_routes(),
                None => self.netlink = None,
            },
            None => std::future::pending().await,
        }
    }

    /// Has the uplinks of this configuration, on the machine as it is now.
    async fn apply_config(&mut self, config: &Config) {
        // Pins of another daemon must not be removed.
        self.pin_directory = bpf_pins::PinnedPlane::Uplinks
            .is_own(config)
            .then(|| bpf_pins::PinnedPlane::Uplinks.pin_directory(config));
        let idle = config.uplinks.is_empty();
        if idle && self.paths.is_empty() && (self.netlink.is_some() || !self.has_pins()) {
            return;
        }
        if self.netlink.is_none() {
            match RouteNetlink::connect() {
                Ok(netlink) => self.netlink = Some(netlink),
                Err(error) => {
                    return self.report_errors(vec![format!("no uplink is used: {error}")]);
                }
            }
        }
        if idle {
            return self.shut_down().await;
        }
        if self.config.as_ref() != Some(&config.outward) {
            self.kernel_state.invalidate();
            self.config = Some(config.outward.clone());
            // Their marks may be others now.
            self.paths.clear();
        }
        let owners = self.kernel_state.open(config, &self.events);
        self.update_paths(config, &owners);
        self.find_paths().await;
        self.kernel_state.attach_programs(&config.outward);
        self.write().await;
    }

    /// Applies the uplinks of a configuration; unchanged paths keep their state.
    fn update_paths(&mut self, config: &Config, owners: &[u64]) {
        self.marks.assign_numbers(config.uplinks.keys().map(String::as_str), owners);
        let mut before: Vec<MonitoredUplink> = std::mem::take(&mut self.paths);
        for (name, uplink) in &config.uplinks {
            let Some(number) = self.marks.number_of(name) else { continue };
            for gateway in &uplink.via {
                let kept = before.iter().position(|path| path.is_same_path(uplink, *gateway));
                let path = match kept {
                    Some(at) => before.swap_remove(at).with_config(uplink),
                    None => MonitoredUplink::new(uplink, *gateway, number),
                };
                self.paths.push(path);
            }
        }
    }

    async fn find_paths(&mut self) {
        let Some(netlink) = &self.netlink else { return };
        let found = (netlink.interfaces().await, netlink.addresses().await);
        match found {
            (Ok(interfaces), Ok(addresses)) => {
                for path in &mut self.paths {
                    path.find_source(&interfaces, &addresses);
                }
            }
            (Err(error), _) | (_, Err(error)) => {
                for path in &mut self.paths {
                    path.fail(format!("the kernel does not tell its interfaces: {error}"));
                }
            }
        }
    }

    fn handle_reply(&mut self, heard: &UplinkProbeReply) {
        // Answers to a socket that has been closed meanwhile are ignored.
        let _ = self.paths.iter_mut().any(|path| path.handle_reply(heard));
    }

    /// Sends due probes and writes changes.
    async fn tick(&mut self) {
        let Some(marks) = self.config.as_ref().map(mark_bits) else { return };
        let mut failed = Vec::new();
        for path in &mut self.paths {
            failed.extend(path.send_probes(monotonic_now(), marks, &self.replies));
        }
        if !failed.is_empty() {
            self.report_errors(failed);
        }
        if self.verdicts != self.record_verdicts() {
            self.write().await;
        }
    }

    fn record_verdicts(&self) -> Vec<UplinkVerdict> {
        let verdict = |path: &MonitoredUplink| {
            let UplinkCandidate { up, is_usable, .. } = path.wheel_candidate();
            UplinkVerdict { up, is_usable }
        };
        self.paths.iter().map(verdict).collect()
    }

    /// Writes the results of the paths' states, and logs changes.
    async fn write(&mut self) {
        let Some(all) = self.config.clone() else { return };
        self.verdicts = self.record_verdicts();
        self.report_paths();
        self.kernel_state.write_programs(&all, &self.paths);
        if let Some(netlink) = &self.netlink {
            self.kernel_state.write_routes(&all, &self.paths, netlink).await;
        }
        self.kernel_state.write_translations(&all, &self.paths);
        let lost = std::mem::take(&mut self.kernel_state.missing_routes);
        if lost > 0 {
            let text = format!(
                "{lost} rules or routes of uplinks were gone, which another program removes; they are set again"
            );
            self.events.warn("kernel-restored", text);
        }
        for name in std::mem::take(&mut self.kernel_state.detached) {
            let text = format!(
                "the program that shares what comes in by {name} among uplinks was taken off; it is back"
            );
            self.events.warn("kernel-restored", text);
        }
        let troubles = std::mem::take(&mut self.kernel_state.errors);
        self.report_errors(troubles);
    }

    /// Logs which paths went up or down.
    fn report_paths(&mut self) {
        let up = self.paths.iter().filter(|path| path.wheel_candidate().up).count();
        let all = self.paths.len();
        let spread = [false, true].map(|v6| build_wheel(&self.paths, v6).spread);
        for path in &mut self.paths {
            let now = path.wheel_candidate().up;
            if path.reported_up == Some(now) {
                continue;
            }
            let v6 = path.gateway.is_ipv6();
            let reason = path.health.reason(&path.config.interface);
            let text = format!(
                "uplink {} ({}): {reason}; {up} of {all} are up",
                path.config.name,
                family(v6)
            );
            match (now, spread[usize::from(v6)]) {
                (true, _) => self.events.info("uplink-up", text),
                (false, false) => self.events.warn("uplink-down", text),
                (false, true) => {
                    let text = format!("{text}: all that can send are used as if they were");
                    self.events.warn("uplink-down", text);
                }
            }
            path.reported_up = Some(now);
        }
    }

    fn report_errors(&mut self, troubles: Vec<String>) {
        let troubles: Vec<String> = troubles.into_iter().map(plain_error_text).collect();
        for trouble in troubles.iter().filter(|one| !self.last_errors.contains(one)) {
            self.events.warn("uplink-trouble", trouble.clone());
        }
        self.last_errors = troubles;
    }

    /// Gives everything up and leaves no trace.
    async fn shut_down(&mut self) {
        self.paths.clear();
        self.verdicts.clear();
        self.marks = UplinkNumbers::default();
        self.config = None;
        if self.has_pins() || self.netlink.is_some() {
            if self.netlink.is_none() {
                self.netlink = RouteNetlink::connect().ok();
            }
            if let Some(netlink) = &self.netlink {
                let left =
                    self.kernel_state.remove_all(self.pin_directory.as_deref(), netlink).await;
                self.report_errors(left);
            }
        }
    }

    fn view(&self) -> UplinksView {
        let Some(all) = &self.config else { return UplinksView::default() };
        let wheels = [false, true].map(|v6| build_wheel(&self.paths, v6));
        let paths = self.paths.iter().map(|path| self.path_view(path, all, &wheels)).collect();
        UplinksView { paths, errors: self.last_errors.clone(), first_rule: all.rule }
    }

    fn path_view(
        &self,
        path: &MonitoredUplink,
        all: &UplinksConfig,
        wheels: &[UplinkWheel; 2],
    ) -> UplinkPathView {
        let MonitoredUplink { config, gateway, number, health: judge, source, .. } = path;
        UplinkPathView {
            name: config.name.clone(),
            v6: gateway.is_ipv6(),
            interface: config.interface.clone(),
            gateway: *gateway,
            source: *source,
            up: path.wheel_candidate().up,
            reason: judge.reason(&config.interface),
            weight: config.weight,
            priority: config.priority,
            share: wheels[usize::from(gateway.is_ipv6())].share(*number),
            round_trip: judge.round_trip(),
            loss: judge.loss(),
            table: all.table + u32::from(*number),
            mark: mark_bits(all).mark_for(*number),
            counts: self.kernel_state.counts(*number),
        }
    }
}

fn family(v6: bool) -> &'static str {
    if v6 { "IPv6" } else { "IPv4" }
}
