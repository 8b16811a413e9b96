//! Sums over workers, and one observation per crossing.

use super::*;

#[derive(Default)]
struct ObservationLog(Mutex<Vec<PortShortage>>);

/// The numbers of one observation: ports in use, and ports that are left.
#[derive(Debug, PartialEq, Eq)]
struct PortShortage {
    in_use: u32,
    left: u32,
}

impl PlaneObserver for ObservationLog {
    fn observe(&self, seen: PlaneObservation) {
        if let PlaneObservation::SourcePortsLow { in_use, left, .. } = seen {
            self.0.lock().unwrap().push(PortShortage { in_use, left });
        }
    }
    fn log(&self, _lines: Vec<u8>) -> bool {
        true
    }
}

impl ObservationLog {
    fn take(&self) -> Vec<PortShortage> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn low(in_use: u32, left: u32) -> PortShortage {
    PortShortage { in_use, left }
}

fn path(source: Option<IpAddr>, destination: SocketAddr) -> PortPath {
    PortPath { source, destination }
}

fn to(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

#[test]
fn each_crossing_is_reported_once_over_all_workers() {
    let recorder = Arc::new(ObservationLog::default());
    let all = Arc::new(PortTotals::new(100, recorder.clone()));
    let workers = [WorkerPorts::new(all.clone()), WorkerPorts::new(all)];
    // One worker has nearly all ports, the other the last ones: neither sees the shortage alone.
    let mut leases: Vec<PortLease> = (0..79).map(|_| workers[0].lease(None, to(80))).collect();
    assert_eq!(recorder.take(), []);
    leases.extend((0..15).map(|_| workers[1].lease(None, to(80))));
    assert_eq!(recorder.take(), [low(80, 20)]);
    leases.extend((0..6).map(|_| workers[0].lease(None, to(80))));
    assert_eq!(recorder.take(), [low(95, 5)]);
    workers[0].exhausted(None, to(80));
    workers[1].exhausted(None, to(80));
    assert_eq!(recorder.take(), [low(100, 0)]);

    // Another destination has its own ports.
    let other = workers[0].lease(None, to(81));
    assert_eq!(recorder.take(), []);
    drop(other);

    // Near the threshold no observation is repeated; after a recovery another one is sent.
    leases.truncate(91);
    leases.extend((0..9).map(|_| workers[0].lease(None, to(80))));
    assert_eq!(recorder.take(), []);
    leases.truncate(85);
    leases.extend((0..10).map(|_| workers[0].lease(None, to(80))));
    assert_eq!(recorder.take(), [low(95, 5)]);
    leases.clear();
    leases.extend((0..100).map(|_| workers[1].lease(None, to(80))));
    assert_eq!(recorder.take(), [low(80, 20), low(95, 5)]);
}

#[test]
fn what_is_idle_is_not_listed_and_not_remembered_without_end() {
    let ports = WorkerPorts::default();
    drop(ports.lease(None, to(1)));
    assert_eq!(ports.all(), []);
    let leases: Vec<PortLease> = (1..=1000).map(|port| ports.lease(None, to(port))).collect();
    assert_eq!(ports.all().len(), 1000);
    drop(leases);
    assert_eq!(ports.all(), []);
    assert!(lock(&ports.own_paths).len() <= MAX_IDLE_PATHS);
    assert!(lock(&ports.all.paths).len() <= MAX_IDLE_PATHS);
    ports.exhausted(None, to(7));
    let used = PathUsage { open: 0, exhausted: 1, time_wait: 0 };
    assert_eq!(ports.all(), [UsedPortPath { path: path(None, to(7)), usage: used }]);
}

#[test]
fn ports_that_rest_are_in_use_and_reported_before_none_is_left() {
    let recorder = Arc::new(ObservationLog::default());
    let all = Arc::new(PortTotals::new(100, recorder.clone()));
    let workers = [WorkerPorts::new(all.clone()), WorkerPorts::new(all.clone())];
    let [own, set] = [[10, 0, 0, 9], [10, 0, 0, 8]].map(IpAddr::from);
    // Two paths: one with the kernel's choice of source address, one with a configured address.
    let leases = [workers[0].lease(None, to(80)), workers[1].lease(Some(set), to(80))];
    let resting = |own_ports, set_ports| {
        let by = HashMap::from([(own, own_ports), (set, set_ports)]);
        TimeWaitPorts::from([(to(80), by), (to(81), HashMap::from([(own, 99)]))])
    };
    all.set_time_wait(&resting(78, 10));
    assert_eq!(recorder.take(), []);
    let second = workers[0].lease(None, to(80));
    assert_eq!(recorder.take(), [low(80, 20)], "two are open, the others rest");
    all.set_time_wait(&resting(94, 10));
    assert_eq!(recorder.take(), [low(96, 4)], "also without a connection that is made");
    let used = |path: PortPath| {
        workers.iter().flat_map(WorkerPorts::all).find(|one| one.path == path).unwrap().usage
    };
    assert_eq!(used(path(None, to(80))), PathUsage { open: 2, exhausted: 0, time_wait: 94 });
    assert_eq!(used(path(Some(set), to(80))), PathUsage { open: 1, exhausted: 0, time_wait: 10 });

    // Ports in TIME_WAIT are listed without open connections, but not after TIME_WAIT ends.
    drop((leases, second));
    assert_eq!(used(path(None, to(80))), PathUsage { open: 0, exhausted: 0, time_wait: 94 });
    all.set_time_wait(&TimeWaitPorts::new());
    assert_eq!(workers[0].all(), []);
    let _again = workers[0].lease(None, to(80));
    all.set_time_wait(&resting(80, 0));
    assert_eq!(recorder.take(), [low(81, 19)], "after a recovery it is told again");
}

#[test]
fn paths_whose_ports_rest_are_kept_until_they_do_not() {
    let all = Arc::new(PortTotals::default());
    let ports = WorkerPorts::new(all.clone());
    let leases: Vec<PortLease> = (1..=1000).map(|port| ports.lease(None, to(port))).collect();
    let own = IpAddr::from([10, 0, 0, 9]);
    all.set_time_wait(&(1..=1000).map(|port| (to(port), HashMap::from([(own, 1)]))).collect());
    drop(leases);
    ports.forget_idle();
    assert_eq!(ports.all().len(), 1000);
    all.set_time_wait(&TimeWaitPorts::new());
    ports.forget_idle();
    assert!(lock(&ports.own_paths).len() <= MAX_IDLE_PATHS);
    assert!(lock(&all.paths).len() <= MAX_IDLE_PATHS);
}
