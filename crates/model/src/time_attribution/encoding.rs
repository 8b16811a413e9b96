//! Measurements as 64-bit words: the form in which workers pass them to the control thread.
//!
//! Both directions of the encoding are in this file; an invalid word is decoded as absent.

use std::net::{IpAddr, Ipv6Addr};

use super::exchange_measurement::{
    ExchangeFlags, ExchangeMeasurement, ExchangePhases, ExchangeTrace, RequestDrain,
};
use super::tcp_info::TcpInfoDelta;
use super::wait_times::{COUNT, WaitReason, WaitTimes};

/// Words of one socket's counters.
const SOCKET: usize = 12;
/// Index of the phases.
const PHASES: usize = 8;
/// Index of the waits.
const WAITS: usize = PHASES + 8;
/// Index of the bytes.
const BYTES: usize = WAITS + COUNT;
/// Index of the sockets.
const SOCKETS: usize = BYTES + 4;
/// Index of the trace context.
const TRACE: usize = SOCKETS + 2 * SOCKET;
/// Index of the number of arrivals, and of what the kernel did with the request after its last byte.
const REST: usize = TRACE + 3;
/// Words of one exchange.
pub const WORDS: usize = REST + 3;
/// Bit in the flags' word: the trace is sampled.
const SAMPLED: u64 = 1 << 16;
/// Bit in the flags' word: the client's connection is one of QUIC.
const QUIC: u64 = 1 << 17;
/// Bit in the flags' word: an error page replaced the status of the server's response.
const ERROR_REPLACED: u64 = 1 << 18;

const NONE: u32 = u32::MAX;

impl ExchangeMeasurement {
    pub fn to_words(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let address = match self.client {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let address = u128::from(address);
        words[0] = self.id;
        words[1] = self.ended_at;
        words[2] = pack_pair(self.service, self.server.unwrap_or(NONE));
        words[3] = (address >> 64) as u64;
        words[4] = address as u64;
        let few = u64::from(self.attempts) << 48 | u64::from(self.status) << 32;
        let cause = self.cause.map_or(0xff, u64::from) << 8;
        words[5] = few | cause | u64::from(encode_flags(&self.flags));
        words[5] |= if self.flags.client_quic { QUIC } else { 0 };
        words[5] |= if self.flags.error_replaced { ERROR_REPLACED } else { 0 };
        words[6] = self.total;
        words[7] = pack_pair(u32::from(self.client_port), u32::from(self.server_port));
        words[PHASES..WAITS].copy_from_slice(&self.phases.values());
        for (word, whom) in words[WAITS..BYTES].iter_mut().zip(WaitReason::ALL) {
            *word = self.wait_times.total(whom);
        }
        words[BYTES..SOCKETS].copy_from_slice(&self.bytes);
        encode_tcp(self.client_tcp.as_ref(), &mut words[SOCKETS..SOCKETS + SOCKET]);
        encode_tcp(self.server_tcp.as_ref(), &mut words[SOCKETS + SOCKET..TRACE]);
        if let Some(ExchangeTrace { trace, parent, sampled }) = self.trace {
            words[TRACE..REST].copy_from_slice(&[(trace >> 64) as u64, trace as u64, parent]);
            words[5] |= if sampled { SAMPLED } else { 0 };
        }
        let [client, server] = self.wait_times.arrivals();
        let drain = &self.request_drain;
        words[REST..].copy_from_slice(&[
            pack_pair(client, server),
            drain.busy_us,
            drain.rwnd_limited_us,
        ]);
        words
    }

    /// Decodes words; the exchange has weight 1.
    pub fn from_words(words: &[u64; WORDS]) -> ExchangeMeasurement {
        let address = Ipv6Addr::from(u128::from(words[3]) << 64 | u128::from(words[4]));
        let (service, server) = unpack_pair(words[2]);
        let mut waits = WaitTimes::default();
        for (word, whom) in words[WAITS..BYTES].iter().zip(WaitReason::ALL) {
            waits.set(whom, *word);
        }
        waits.set_arrivals(unpack_pair(words[REST]).into());
        let eight = std::array::from_fn(|at| words[PHASES + at]);
        let cause = (words[5] >> 8) as u8;
        let (client_port, server_port) = unpack_pair(words[7]);
        let trace = u128::from(words[TRACE]) << 64 | u128::from(words[TRACE + 1]);
        let sampled = words[5] & SAMPLED != 0;
        ExchangeMeasurement {
            id: words[0],
            ended_at: words[1],
            service,
            server: (server != NONE).then_some(server),
            client: address.to_canonical(),
            client_port: client_port as u16,
            server_port: server_port as u16,
            flags: ExchangeFlags {
                client_quic: words[5] & QUIC != 0,
                error_replaced: words[5] & ERROR_REPLACED != 0,
                ..decode_flags(words[5] as u8)
            },
            attempts: (words[5] >> 48) as u16,
            status: (words[5] >> 32) as u16,
            cause: (cause != 0xff).then_some(cause),
            weight: 1.0,
            total: words[6],
            phases: ExchangePhases::from_array(eight),
            wait_times: waits,
            bytes: std::array::from_fn(|at| words[BYTES + at]),
            client_tcp: decode_tcp(&words[SOCKETS..SOCKETS + SOCKET]),
            server_tcp: decode_tcp(&words[SOCKETS + SOCKET..TRACE]),
            request_drain: RequestDrain {
                busy_us: words[REST + 1],
                rwnd_limited_us: words[REST + 2],
            },
            trace: (trace != 0).then(|| ExchangeTrace { trace, parent: words[TRACE + 2], sampled }),
        }
    }
}

fn encode_tcp(change: Option<&TcpInfoDelta>, words: &mut [u64]) {
    let Some(delta) = change else { return };
    let all = [
        delta.busy_us,
        delta.rwnd_limited_us,
        delta.sndbuf_limited_us,
        delta.bytes_acked,
        delta.bytes_received,
        delta.delivery_rate,
        pack_pair(delta.retransmits, delta.out_of_order),
        pack_pair(delta.rtt_us, delta.min_rtt_us),
        pack_pair(delta.not_sent, delta.window),
        pack_pair(delta.cwnd, delta.ssthresh),
        // The lowest bit marks that the socket was read.
        pack_pair(delta.mss, 1 | u32::from(delta.own) << 1),
        pack_pair(delta.receive_rtt_us, delta.send_buffer),
    ];
    words.copy_from_slice(&all);
}

fn decode_tcp(words: &[u64]) -> Option<TcpInfoDelta> {
    let at = |index: usize| words.get(index).copied().unwrap_or_default();
    let (mss, bits) = unpack_pair(at(10));
    let (retransmits, out_of_order) = unpack_pair(at(6));
    let (rtt_us, min_rtt_us) = unpack_pair(at(7));
    let (not_sent, window) = unpack_pair(at(8));
    let (cwnd, ssthresh) = unpack_pair(at(9));
    let (receive_rtt_us, send_buffer) = unpack_pair(at(11));
    (bits & 1 == 1).then(|| TcpInfoDelta {
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
        send_buffer,
        receive_rtt_us,
    })
}

fn pack_pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn unpack_pair(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

fn encode_flags(flags: &ExchangeFlags) -> u8 {
    let all = [
        flags.slow,
        flags.sampled,
        flags.reused,
        flags.client_shared,
        flags.server_shared,
        flags.tunnel,
        flags.by_us,
        flags.server_tls,
    ];
    all.iter().enumerate().fold(0, |bits, (at, is)| bits | u8::from(*is) << at)
}

fn decode_flags(bits: u8) -> ExchangeFlags {
    let is = |at: u8| bits >> at & 1 == 1;
    ExchangeFlags {
        slow: is(0),
        sampled: is(1),
        reused: is(2),
        client_shared: is(3),
        server_shared: is(4),
        tunnel: is(5),
        by_us: is(6),
        server_tls: is(7),
        client_quic: false,
        error_replaced: false,
    }
}
