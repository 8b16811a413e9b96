//! Sums over workers, and one word a crossing.

use super::*;

#[derive(Default)]
struct Ear(Mutex<Vec<(u32, u32)>>);

impl Outside for Ear {
    fn observe(&self, seen: Observation) {
        if let Observation::SourcePortsLow { in_use, left, .. } = seen {
            self.0.lock().unwrap().push((in_use, left));
        }
    }
    fn log(&self, _lines: Vec<u8>) -> bool {
        true
    }
}

impl Ear {
    fn take(&self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn to(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

#[test]
fn each_crossing_is_told_once_over_all_workers() {
    let ear = Arc::new(Ear::default());
    let all = Arc::new(AllPorts::new(100, ear.clone()));
    let workers = [Ports::of(all.clone()), Ports::of(all)];
    // Nearly all by one worker, the last by the other: neither sees it alone.
    let mut leases: Vec<Lease> = (0..79).map(|_| workers[0].lease(None, to(80))).collect();
    assert_eq!(ear.take(), []);
    leases.extend((0..15).map(|_| workers[1].lease(None, to(80))));
    assert_eq!(ear.take(), [(80, 20)]);
    leases.extend((0..6).map(|_| workers[0].lease(None, to(80))));
    assert_eq!(ear.take(), [(95, 5)]);
    workers[0].exhausted(None, to(80));
    workers[1].exhausted(None, to(80));
    assert_eq!(ear.take(), [(100, 0)]);

    // Another destination has its own.
    let other = workers[0].lease(None, to(81));
    assert_eq!(ear.take(), []);
    drop(other);

    // Around the mark nothing is repeated; after a recovery it is told again.
    leases.truncate(91);
    leases.extend((0..9).map(|_| workers[0].lease(None, to(80))));
    assert_eq!(ear.take(), []);
    leases.truncate(85);
    leases.extend((0..10).map(|_| workers[0].lease(None, to(80))));
    assert_eq!(ear.take(), [(95, 5)]);
    leases.clear();
    leases.extend((0..100).map(|_| workers[1].lease(None, to(80))));
    assert_eq!(ear.take(), [(80, 20), (95, 5)]);
}

#[test]
fn what_is_idle_is_not_listed_and_not_remembered_without_end() {
    let ports = Ports::default();
    drop(ports.lease(None, to(1)));
    assert_eq!(ports.all(), []);
    let leases: Vec<Lease> = (1..=1000).map(|port| ports.lease(None, to(port))).collect();
    assert_eq!(ports.all().len(), 1000);
    drop(leases);
    assert_eq!(ports.all(), []);
    assert!(held(&ports.own).len() <= REMEMBERED);
    assert!(held(&ports.all.paths).len() <= REMEMBERED);
    ports.exhausted(None, to(7));
    assert_eq!(ports.all(), [((None, to(7)), Use { open: 0, exhausted: 1 })]);
}
