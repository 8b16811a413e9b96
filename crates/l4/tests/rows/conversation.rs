//! A conversation between a client and a server, fed to the datapath and to the model of its sampler.

use l4::abi::Method;
use l4::flow_samples::{FlowSampler, set_sampling};
use model::flow_samples::FlowSample;

use super::flow_model::{FlowModel, PacketSample};
use super::packet::{ACK, SYN, TCP, TestPacket, read_ip, tcp};
use super::usual::{CLIENT4, VIP4};
use super::world::DatapathTestbed;

pub const MS: u64 = 1_000_000;
/// First numbers of client and server; the server's wraps soon.
const FIRST: [u32; 2] = [1_000, 0xffff_ff00];

/// A testbed with one service that samples everything.
pub struct SampledConversation {
    pub world: DatapathTestbed,
    pub watcher: FlowSampler,
    both: bool,
    /// The server's ends as the server has them, once a client's packet was translated.
    pub ends: Option<(String, String)>,
    pub model: FlowModel,
}

impl SampledConversation {
    pub fn new(method: Method) -> Option<SampledConversation> {
        Some(SampledConversation::in_world(DatapathTestbed::new()?, method))
    }

    pub fn in_world(world: DatapathTestbed, method: Method) -> SampledConversation {
        world.service(0, method);
        world.listen("203.0.113.10", 80, TCP, 0);
        world.server(0, "10.0.0.1", 8080);
        world.pool(0, &[0]);
        if method == Method::Nat {
            world.share(0, &["10.0.0.254"], 0, 4_096);
        }
        let watcher = FlowSampler::new(&world.plane).unwrap();
        assert!(set_sampling(&world.plane, &watcher, Some(1)).unwrap());
        let both = method == Method::Nat;
        let model = FlowModel { both, ..FlowModel::default() };
        SampledConversation { world, watcher, both, ends: None, model }
    }

    fn client(&mut self, packet: &TestPacket) {
        let (_, out) = self.world.send(packet);
        if self.both && self.ends.is_none() {
            let seen = read_ip(&out[14..]);
            let end = |ip, port| std::net::SocketAddr::new(ip, port).to_string();
            self.ends = Some((end(seen.dst, seen.dport), end(seen.src, seen.sport)));
        }
    }

    /// Sends one packet to the datapath and to the model.
    pub fn say(&mut self, mut g: PacketSample) {
        g.at = self.world.now;
        let ends = self.ends.clone();
        let (from, to) = match (&ends, g.side) {
            (Some((server, us)), 1) => (server.as_str(), us.as_str()),
            _ => (CLIENT4, VIP4),
        };
        let options = match (g.flags & SYN != 0, g.shift) {
            (false, _) => Vec::new(),
            (true, None) => [&[2, 4], &(g.mss as u16).to_be_bytes()[..]].concat(),
            (true, Some(shift)) => {
                let mss = (g.mss as u16).to_be_bytes();
                [&[2, 4], &mss[..], &[1, 3, 3, shift as u8]].concat()
            }
        };
        let packet = TestPacket {
            seq: FIRST[g.side].wrapping_add(g.seq as u32),
            window: g.window as u16,
            tcp_options: options,
            payload: vec![b'x'; g.bytes as usize],
            ..tcp(from, to, g.flags)
        };
        match g.side {
            0 => self.client(&packet),
            _ if !self.both || ends.is_none() => return,
            _ => {
                self.world.send(&packet);
            }
        }
        self.model.packet(&g);
    }

    pub fn after(&mut self, ns: u64) -> &mut SampledConversation {
        self.world.pass_ns(ns);
        self
    }

    /// The one sampled connection.
    pub fn seen(&self) -> FlowSample {
        let all = self.watcher.read_samples();
        assert_eq!(all.len(), 1, "{all:?}");
        all.into_iter().next().unwrap()
    }

    /// The datapath's sample equals the model's.
    pub fn agrees(&self) {
        let seen = self.seen();
        let model = &self.model;
        for (side, half) in model.halves.iter().enumerate() {
            let sampled_side = seen.sides[side];
            let counts = [
                (sampled_side.packets, half.packets),
                (sampled_side.retransmitted, half.retransmitted),
                (sampled_side.filled, half.filled),
                (sampled_side.reordered, half.reordered),
                (sampled_side.zero_window, half.zero),
                (sampled_side.silly_window, half.silly),
                (sampled_side.resets, half.resets),
                (seen.syns[side].into(), half.syns),
            ];
            let (got, want): (Vec<u64>, Vec<u64>) =
                counts.into_iter().map(|(got, want)| (got, u64::from(want))).unzip();
            assert_eq!(got, want, "side {side}");
            let times = [
                sampled_side.zero_window_nanos,
                sampled_side.silly_window_nanos,
                sampled_side.loss_recovery_nanos,
            ];
            assert_eq!(times, [half.zero_ns, half.silly_ns, half.loss_ns], "side {side}");
        }
        assert_eq!(seen.syn, model.syn.unwrap_or_default());
        assert_eq!(seen.syn_ack, model.syn_ack.unwrap_or_default());
        assert_eq!(seen.ack, model.ack.unwrap_or_default());
        assert_eq!((seen.ended, seen.refused), (model.ended, model.refused));
    }

    /// SYN, its answer after 20 ms, its acknowledgement 30 ms later; both offer a shift of 7.
    pub fn open(&mut self) {
        self.say(syn(0));
        self.after(20 * MS).say(PacketSample { flags: SYN | ACK, ..syn(1) });
        self.after(30 * MS).say(data(0, 1, 0));
        self.after(MS);
    }
}

pub fn syn(side: usize) -> PacketSample {
    PacketSample {
        side,
        at: 0,
        flags: SYN,
        seq: 0,
        bytes: 0,
        window: 64_240,
        mss: 1_460,
        shift: Some(7),
    }
}

pub fn data(side: usize, seq: i64, bytes: i64) -> PacketSample {
    PacketSample { flags: ACK, seq, bytes, window: 501, ..syn(side) }
}
