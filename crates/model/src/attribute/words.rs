//! Facts as words of 64 bits: the form in which workers hand them to control work.
//!
//! Both directions of the form are here and nowhere else; a word that means nothing is read as nothing.

use std::net::{IpAddr, Ipv6Addr};

use super::evidence::{Facts, Flags, Phases, Traced};
use super::tcp::Change;
use super::waits::{COUNT, For, Waits};

/// Words of the counters of one socket.
const SOCKET: usize = 12;
/// Where the phases begin.
const PHASES: usize = 8;
/// Where the waits begin.
const FOR: usize = PHASES + 8;
/// Where the bytes begin.
const BYTES: usize = FOR + COUNT;
/// Where the sockets begin.
const SOCKETS: usize = BYTES + 4;
/// Where its place in a trace stands.
const TRACED: usize = SOCKETS + 2 * SOCKET;
/// Words of one exchange.
pub const WORDS: usize = TRACED + 3;
/// In the word of the flags: it is recorded.
const SAMPLED: u64 = 1 << 16;

const NONE: u32 = u32::MAX;

impl Facts {
    /// As words.
    pub fn to_words(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let address = match self.client {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let address = u128::from(address);
        words[0] = self.id;
        words[1] = self.at;
        words[2] = pair(self.service, self.server.unwrap_or(NONE));
        words[3] = (address >> 64) as u64;
        words[4] = address as u64;
        let few = u64::from(self.attempts) << 48 | u64::from(self.status) << 32;
        let cause = self.cause.map_or(0xff, u64::from) << 8;
        words[5] = few | cause | u64::from(bits(&self.flags));
        words[6] = self.total;
        words[7] = pair(u32::from(self.client_port), u32::from(self.server_port));
        words[PHASES..FOR].copy_from_slice(&self.phases.all());
        for (word, whom) in words[FOR..BYTES].iter_mut().zip(For::ALL) {
            *word = self.waits.of(whom);
        }
        words[BYTES..SOCKETS].copy_from_slice(&self.bytes);
        write(self.client_tcp.as_ref(), &mut words[SOCKETS..SOCKETS + SOCKET]);
        write(self.server_tcp.as_ref(), &mut words[SOCKETS + SOCKET..TRACED]);
        if let Some(Traced { trace, parent, sampled }) = self.traced {
            words[TRACED..].copy_from_slice(&[(trace >> 64) as u64, trace as u64, parent]);
            words[5] |= if sampled { SAMPLED } else { 0 };
        }
        words
    }

    /// From words; it stands for itself alone.
    pub fn from_words(words: &[u64; WORDS]) -> Facts {
        let address = Ipv6Addr::from(u128::from(words[3]) << 64 | u128::from(words[4]));
        let (service, server) = halves(words[2]);
        let mut waits = Waits::default();
        for (word, whom) in words[FOR..BYTES].iter().zip(For::ALL) {
            waits.set(whom, *word);
        }
        let eight = std::array::from_fn(|at| words[PHASES + at]);
        let cause = (words[5] >> 8) as u8;
        let (client_port, server_port) = halves(words[7]);
        let trace = u128::from(words[TRACED]) << 64 | u128::from(words[TRACED + 1]);
        let sampled = words[5] & SAMPLED != 0;
        Facts {
            id: words[0],
            at: words[1],
            service,
            server: (server != NONE).then_some(server),
            client: address.to_canonical(),
            client_port: client_port as u16,
            server_port: server_port as u16,
            flags: flags(words[5] as u8),
            attempts: (words[5] >> 48) as u16,
            status: (words[5] >> 32) as u16,
            cause: (cause != 0xff).then_some(cause),
            weight: 1,
            total: words[6],
            phases: Phases::of(eight),
            waits,
            bytes: std::array::from_fn(|at| words[BYTES + at]),
            client_tcp: read(&words[SOCKETS..SOCKETS + SOCKET]),
            server_tcp: read(&words[SOCKETS + SOCKET..TRACED]),
            traced: (trace != 0).then(|| Traced { trace, parent: words[TRACED + 2], sampled }),
        }
    }
}

fn write(change: Option<&Change>, words: &mut [u64]) {
    let Some(it) = change else { return };
    let all = [
        it.busy_us,
        it.rwnd_limited_us,
        it.sndbuf_limited_us,
        it.bytes_acked,
        it.bytes_received,
        it.delivery_rate,
        pair(it.retransmits, it.out_of_order),
        pair(it.rtt_us, it.min_rtt_us),
        pair(it.not_sent, it.window),
        pair(it.cwnd, it.ssthresh),
        // The lowest bit says that there was a reading at all.
        pair(it.mss, 1 | u32::from(it.own) << 1),
        u64::from(it.send_buffer),
    ];
    words.copy_from_slice(&all);
}

fn read(words: &[u64]) -> Option<Change> {
    let at = |index: usize| words.get(index).copied().unwrap_or_default();
    let (mss, bits) = halves(at(10));
    let ((retransmits, out_of_order), (rtt_us, min_rtt_us)) = (halves(at(6)), halves(at(7)));
    let ((not_sent, window), (cwnd, ssthresh)) = (halves(at(8)), halves(at(9)));
    (bits & 1 == 1).then(|| Change {
        busy_us: at(0),
        rwnd_limited_us: at(1),
        sndbuf_limited_us: at(2),
        bytes_acked: at(3),
        bytes_received: at(4),
        delivery_rate: at(5),
        retransmits,
        out_of_order,
        rtt_us,
        min_rtt_us,
        not_sent,
        window,
        cwnd,
        ssthresh,
        mss,
        own: bits & 2 == 2,
        send_buffer: at(11) as u32,
    })
}

fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn halves(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

fn bits(it: &Flags) -> u8 {
    let all = [
        it.slow,
        it.drawn,
        it.reused,
        it.client_shared,
        it.server_shared,
        it.tunnel,
        it.by_us,
        it.server_tls,
    ];
    all.iter().enumerate().fold(0, |bits, (at, is)| bits | u8::from(*is) << at)
}

fn flags(bits: u8) -> Flags {
    let is = |at: u8| bits >> at & 1 == 1;
    Flags {
        slow: is(0),
        drawn: is(1),
        reused: is(2),
        client_shared: is(3),
        server_shared: is(4),
        tunnel: is(5),
        by_us: is(6),
        server_tls: is(7),
    }
}
