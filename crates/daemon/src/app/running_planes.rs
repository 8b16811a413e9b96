//! The planes that carry traffic, started in order, and what is reported of them.

use std::sync::Arc;

use l7::{OpenCounts, PortUse, RequestPlane, TimeWaitPorts};
use tokio::sync::mpsc;

use crate::health::health_check;
use crate::observability::access_log::AccessLogger;
use crate::observability::capture::CaptureController;
use crate::observability::history::HistoryRecorder;
use crate::observability::report::error_window::ErrorWindow;
use crate::observability::report::report_sources::ReportSources;
use crate::observability::report::sample::SampleHistory;
use crate::observability::slow_exchanges::SlowExchangeStore;
use crate::planes::egress_routes::EgressRoutes;
use crate::planes::name_server;
use crate::planes::packets;
use crate::planes::vrrp;
use crate::state::ControlHandle;
use crate::util::activity::ActivityMonitor;
use crate::util::admin_listeners::admin_sockets::AdminSockets;

/// Everything that carries traffic or gives addresses.
pub(super) struct RunningPlanes {
    pub proxy: Arc<RequestPlane>,
    pub packets: packets::PacketPlaneHandle,
    pub vrrp: vrrp::VrrpHandle,
    pub egress: EgressRoutes,
    pub names: name_server::NameServerHandle,
}

impl RunningPlanes {
    /// Starts the planes beside the request plane. The name server listens when this returns.
    pub async fn start(
        control: &ControlHandle,
        proxy: Arc<RequestPlane>,
        orders: packets::order::PlaneCommandSender,
        inbox: mpsc::Receiver<packets::order::PlaneCommand>,
        pulse: vrrp::ControlPulse,
    ) -> RunningPlanes {
        let packets = packets::PacketPlaneHandle::start(control.clone(), orders, inbox);
        let view = packets.view();
        let source = packets.replication_source();
        let vrrp = vrrp::VrrpHandle::start(control.clone(), pulse, view, source);
        let egress = EgressRoutes::start(control);
        let mut names = name_server::NameServerHandle::start(control.clone());
        names.wait_listening().await;
        RunningPlanes { proxy, packets, vrrp, egress, names }
    }

    /// The sources that reports, metrics and alarms read.
    pub fn report_sources(
        &self,
        control: &ControlHandle,
        access: &Arc<AccessLogger>,
        prober: &health_check::Prober,
        history: &HistoryRecorder,
        admin: AdminSockets,
        sample: Option<u32>,
    ) -> ReportSources {
        ReportSources {
            control: control.clone(),
            read_port_usage: port_use_reader(&self.proxy),
            report_time_wait: idle_limit_setter(&self.proxy),
            read_open_counts: open_count_reader(&self.proxy),
            access: Arc::clone(access),
            probes: Arc::clone(&prober.counts),
            evidence: Arc::clone(&prober.evidence),
            packets: self.packets.view(),
            vrrp: self.vrrp.view(),
            links: self.egress.links.view(),
            uplinks: self.egress.uplinks.view(),
            mptcp: self.egress.mptcp.view(),
            names: self.names.state(),
            balancing_decisions: Arc::default(),
            slow_exchanges: Arc::new(SlowExchangeStore::new(self.proxy.take_samples(), sample)),
            refused: self.proxy.refused_requests(),
            flow_samples: self.packets.flow_samples(),
            slo: Arc::default(),
            certificate_orders: Arc::default(),
            draining_clients: Arc::default(),
            captures: CaptureController::new(history.state(), control.events().clone()),
            telemetry: Arc::default(),
            headroom: Arc::default(),
            samples: SampleHistory::default(),
            errors: ErrorWindow::default(),
            api_counters: Arc::default(),
            admin: Arc::new(admin),
            predecessor: Arc::default(),
            activity: ActivityMonitor::new(),
        }
    }
}

/// These readers hold weak references, so that they keep no plane alive.
fn port_use_reader(plane: &Arc<RequestPlane>) -> Box<dyn Fn() -> Vec<PortUse> + Send + Sync> {
    let plane = Arc::downgrade(plane);
    Box::new(move || plane.upgrade().map(|plane| plane.port_usage()).unwrap_or_default())
}

fn open_count_reader(plane: &Arc<RequestPlane>) -> Box<dyn Fn() -> OpenCounts + Send + Sync> {
    let plane = Arc::downgrade(plane);
    Box::new(move || plane.upgrade().map(|plane| plane.open_counts()).unwrap_or_default())
}

fn idle_limit_setter(plane: &Arc<RequestPlane>) -> Box<dyn Fn(&TimeWaitPorts) + Send + Sync> {
    let plane = Arc::downgrade(plane);
    Box::new(move |resting| plane.upgrade().iter().for_each(|plane| plane.set_time_wait(resting)))
}
