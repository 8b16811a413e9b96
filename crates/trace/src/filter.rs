//! Selects packets by address, port and time. Filtered packets are counted, not analysed.

use std::net::{IpAddr, SocketAddr};

use thiserror::Error;

use crate::address;
use crate::packet::{TcpEndpoint, TcpPacket};

/// One end that a packet must have; `None` matches every value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct EndpointPattern {
    /// The address; version 4 is mapped into version 6, as in [`TcpEndpoint`].
    address: Option<[u8; 16]>,
    port: Option<u16>,
}

/// A filter; empty: everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureFilter {
    ends: Vec<EndpointPattern>,
    /// For each group, one of the packet's two ends must match.
    groups: Vec<Vec<TcpEndpoint>>,
    from_ns: Option<i64>,
    to_ns: Option<i64>,
}

/// Why a filter cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{found}` is no filter; expected `host=ADDRESS`, `port=NUMBER`, `end=ADDRESS:PORT`, `from=SECONDS`, `to=SECONDS` \
     or `pool=NAME`"
)]
pub struct FilterError {
    found: String,
}

impl CaptureFilter {
    /// Adds a condition such as `port=80`. Ends must all be among a packet's two.
    pub fn add(&mut self, text: &str) -> Result<(), FilterError> {
        let bad = || FilterError { found: text.to_owned() };
        let (key, value) = text.split_once('=').ok_or_else(bad)?;
        let nanoseconds = |value: &str| {
            let seconds: f64 = value.parse().map_err(|_| bad())?;
            let fits = seconds.is_finite() && seconds.abs() < 1e9;
            if fits { Ok((seconds * 1e9) as i64) } else { Err(bad()) }
        };
        let host = |value: &str| {
            let address: IpAddr = value.parse().map_err(|_| bad())?;
            Ok(address::bytes(address))
        };
        let port = |value: &str| value.parse::<u16>().map_err(|_| bad());
        match key {
            "host" => self.ends.push(EndpointPattern { address: Some(host(value)?), port: None }),
            "port" => self.ends.push(EndpointPattern { address: None, port: Some(port(value)?) }),
            "end" => {
                let (at, number) = value.rsplit_once(':').ok_or_else(bad)?;
                let at = at.strip_prefix('[').and_then(|at| at.strip_suffix(']')).unwrap_or(at);
                let address = Some(host(at)?);
                self.ends.push(EndpointPattern { address, port: Some(port(number)?) });
            }
            "from" => self.from_ns = Some(nanoseconds(value)?),
            "to" => self.to_ns = Some(nanoseconds(value)?),
            _ => return Err(bad()),
        }
        Ok(())
    }

    /// Adds a condition: one of these ends must be an end of the packet. With an empty list no packet passes.
    pub fn add_one_of(&mut self, ends: impl IntoIterator<Item = SocketAddr>) {
        let end =
            |at: SocketAddr| TcpEndpoint { address: address::bytes(at.ip()), port: at.port() };
        self.groups.push(ends.into_iter().map(end).collect());
    }

    /// The end of what passes; `last_ns`: the end of the capture.
    pub fn last_ns(&self, last_ns: i64) -> i64 {
        self.to_ns.map_or(last_ns, |to| to.min(last_ns))
    }

    /// Whether a packet passes.
    #[inline]
    pub fn accepts(&self, packet: &TcpPacket<'_>) -> bool {
        self.accepts_ends(packet.time_ns, packet.source, packet.destination)
    }

    /// Whether a packet passes that was seen then and has these ends.
    #[inline]
    pub fn accepts_ends(
        &self,
        time_ns: i64,
        source: TcpEndpoint,
        destination: TcpEndpoint,
    ) -> bool {
        *self == CaptureFilter::default() || self.matches_packet(time_ns, source, destination)
    }

    fn matches_packet(&self, time_ns: i64, source: TcpEndpoint, destination: TcpEndpoint) -> bool {
        let is = |end: &TcpEndpoint, pattern: &EndpointPattern| {
            pattern.address.is_none_or(|address| address == end.address)
                && pattern.port.is_none_or(|port| port == end.port)
        };
        let is_one =
            |group: &Vec<TcpEndpoint>| group.contains(&source) || group.contains(&destination);
        self.from_ns.is_none_or(|from| time_ns >= from)
            && self.to_ns.is_none_or(|to| time_ns <= to)
            && self.ends.iter().all(|end| is(&source, end) || is(&destination, end))
            && self.groups.iter().all(is_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read_or_refused_with_what_is_expected() {
        let mut filter = CaptureFilter::default();
        for text in ["port=80", "host=10.0.0.1", "end=[2001:db8::1]:443", "from=1.5", "to=9"] {
            filter.add(text).unwrap();
        }
        for text in ["", "port", "port=x", "host=a", "end=1.2.3.4", "from=inf", "tcp=1"] {
            let message = filter.add(text).unwrap_err().to_string();
            assert!(message.contains("expected"), "{message}");
        }
    }
}
