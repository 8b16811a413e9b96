//! A bundle whose device is the loopback, where test runs leave: nothing is sent. Its pins are in a private directory.

use std::net::IpAddr;
use std::time::Duration;

use bpf::load::{ProgramSpec, load};
use bpf::pin_directory::mount_at;
use bpf::{LoadedObject, PinDirectory};
use files::TemporaryDir;
use links::datapath::{BundleCounters, BundleDatapath, BundleDevice};
use links::link_selection::PacketKey;
use links::schedule::{LinkSchedule, ScheduledLink};
use links::table::{BundleEntry, BundleMember};
use model::config::LinkPolicy;
use tests::skip::skip;

pub const REDIRECT: u32 = 7;
pub const DROP: u32 = 2;
pub const NEXT: u32 = u32::MAX;

/// The loopback's index in every namespace, and an index that no interface has.
const ENDS: BundleDevice = BundleDevice { device: 1, peer_device: 4_000_000 };

pub struct BundleTestbed {
    pub plane: BundleDatapath,
    home: PinDirectory,
    _bpf_fs: BundleBpfFs,
}

impl BundleTestbed {
    /// `None` where the test may not load programs.
    pub fn new() -> Option<BundleTestbed> {
        let place = TemporaryDir::new("links").unwrap();
        if let Err(error) = mount_at(place.path()) {
            skip(&format!("loading programs needs root: {error}"));
            return None;
        }
        let place = BundleBpfFs(place);
        let home = PinDirectory::open(&place.0.path().join("home")).unwrap();
        let plane = BundleDatapath::open(&home).unwrap_or_else(|error| panic!("{error:?}"));
        plane.assign_slots(ENDS).unwrap();
        Some(BundleTestbed { plane, home, _bpf_fs: place })
    }

    /// Activates a bundle; `capacities`: of its links, 0 for a dead one.
    pub fn bundle(&self, policy: LinkPolicy, gap: Duration, capacities: &[u64]) -> LinkSchedule {
        self.entry(policy, gap, capacities, |_| ())
    }

    pub fn entry(
        &self,
        policy: LinkPolicy,
        gap: Duration,
        capacities: &[u64],
        change: impl Fn(&mut BundleMember),
    ) -> LinkSchedule {
        let turn = |capacity: &u64| ScheduledLink { alive: *capacity > 0, capacity: *capacity };
        let turns: Vec<ScheduledLink> = capacities.iter().map(turn).collect();
        let schedule = LinkSchedule::from_policy(policy, &turns);
        let member = |turn: &ScheduledLink| {
            let mut member = BundleMember {
                ifindex: 1,
                alive: turn.alive,
                holds_packets: false,
                v4: Some([10, 0, 0, 1].into()),
                v6: Some("fd00::1".parse().unwrap()),
            };
            change(&mut member);
            member
        };
        let entry = BundleEntry {
            policy,
            slots: schedule.slots().to_vec(),
            gap: u64::try_from(gap.as_nanos()).unwrap(),
            members: turns.iter().map(member).collect(),
        };
        self.plane.set_bundle(ENDS, &entry).unwrap();
        assert_eq!(self.plane.get_bundle(ENDS).unwrap(), Some(entry));
        schedule
    }

    /// A program that only redirects.
    pub fn plain(&self) -> LoadedObject {
        let program = ProgramSpec {
            tenant: "plain",
            object: include_bytes!(concat!(env!("OUT_DIR"), "/plain.bpf.o")),
            version: 1,
            fingerprint: 0,
            sizes: &[],
            only: &[],
            replace: true,
        };
        load(&self.home, &program).unwrap()
    }

    pub fn counts(&self) -> BundleCounters {
        self.plane.counts(ENDS).unwrap()
    }

    /// Sets the time until which packets may be held; 0 means never.
    pub fn lease(&self, until: u64) {
        self.plane
            .hold_lease(ENDS)
            .unwrap()
            .renew(model::monotonic_time::MonotonicTime(until))
            .unwrap();
    }

    /// Sends a frame. Returns the program's result, the frame, and its link.
    pub fn send(&self, frame: &[u8]) -> (u32, Vec<u8>, Option<u8>) {
        let before = self.counts();
        let trial = self.plane.program().unwrap().test_run_egress(frame, 1).unwrap();
        let after = self.counts();
        let moved = |number: &usize| after.links[*number].packets > before.links[*number].packets;
        let link = (0..after.links.len()).find(moved);
        (trial.return_code, trial.packet, link.map(|link| link as u8))
    }
}

/// The frame of a packet, with this many bytes behind its ports.
pub fn frame(packet: &PacketKey, more: usize) -> Vec<u8> {
    let (kind, mut ip) = match (packet.source, packet.destination) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let number = packet.fragment.unwrap_or(0) as u16;
            let offset: u16 = if packet.fragment.is_some() { 0x2000 } else { 0 };
            let length = (28 + more) as u16;
            let mut ip = vec![0x45, 0];
            ip.extend(length.to_be_bytes());
            ip.extend(number.to_be_bytes());
            ip.extend(offset.to_be_bytes());
            ip.extend([64, packet.protocol, 0, 0]);
            ip.extend(from.octets());
            ip.extend(to.octets());
            (0x0800_u16, ip)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let extension = packet.fragment.map(|number| {
                let mut header = vec![packet.protocol, 0, 0, 1];
                header.extend(number.to_be_bytes());
                header
            });
            let next = if extension.is_some() { 44 } else { packet.protocol };
            let extension = extension.unwrap_or_default();
            let mut ip = vec![0x60, 0, 0, 0];
            ip.extend(((8 + more + extension.len()) as u16).to_be_bytes());
            ip.extend([next, 64]);
            ip.extend(from.octets());
            ip.extend(to.octets());
            ip.extend(extension);
            (0x86dd, ip)
        }
        mixed => panic!("{mixed:?}"),
    };
    ip.extend(packet.source_port.to_be_bytes());
    ip.extend(packet.destination_port.to_be_bytes());
    ip.extend([0; 4]);
    ip.resize(ip.len() + more, 0);
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(kind.to_be_bytes());
    frame.extend(ip);
    frame
}

/// A private BPF file system; unmounted when the test ends, also by a panic.
struct BundleBpfFs(TemporaryDir);

impl Drop for BundleBpfFs {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.0.path(), rustix::mount::UnmountFlags::DETACH);
    }
}
