//! Connections a second that a number of ports allows, when each port is unavailable for a time after its connection
//! has closed.
//!
//! A port is in use for one pair of addresses and the other side's port, not for an address alone: two servers share
//! nothing. The rate is the sustainable one; after a pause a burst may be faster.

use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;

use super::quantity::PerSecond;

/// Ports of each return address that a NAT balancer uses: all above the reserved 1,024, minus two.
pub const TRANSLATED_PORTS: u32 = 64_510;

/// How long Linux keeps a connection in TIME_WAIT. The value is compiled in: no sysctl changes it. `TimeWaitPolicy`
/// describes how soon a new connection to the same destination may reuse the port.
pub const LINUX_TIME_WAIT: Duration = Duration::from_secs(60);

/// The kernel's policy for ports in TIME_WAIT of connections that this machine closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TimeWaitPolicy {
    /// For which destinations a new connection may reuse a port in TIME_WAIT.
    pub reuse: TimeWaitReuse,
    /// Whether connections have time stamps (RFC 7323); without them no port is reused.
    pub timestamps: bool,
    /// How long a port is unavailable before reuse.
    pub delay: Duration,
}

/// `net.ipv4.tcp_tw_reuse`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeWaitReuse {
    Never,
    Everywhere,
    /// 2: towards loopback addresses only. The default of Linux.
    Loopback,
}

impl TimeWaitPolicy {
    /// No port is reused before its TIME_WAIT is over.
    pub const WHOLE: TimeWaitPolicy = TimeWaitPolicy {
        reuse: TimeWaitReuse::Never,
        timestamps: true,
        delay: Duration::from_secs(1),
    };

    /// From the sysctls `tcp_tw_reuse`, `tcp_timestamps` and `tcp_tw_reuse_delay` (milliseconds). Kernels without the
    /// last one wait a second. An unreadable or unknown setting counts as no reuse.
    pub fn from_sysctls(
        reuse: Option<u64>,
        timestamps: Option<u64>,
        delay: Option<u64>,
    ) -> TimeWaitPolicy {
        let reuse = match reuse {
            Some(1) => TimeWaitReuse::Everywhere,
            Some(2) => TimeWaitReuse::Loopback,
            _ => TimeWaitReuse::Never,
        };
        let timestamps = timestamps.is_some_and(|on| on > 0);
        TimeWaitPolicy {
            reuse,
            timestamps,
            delay: delay.map_or(Self::WHOLE.delay, Duration::from_millis),
        }
    }

    /// How long the port of a closed connection is unavailable to the next connection with the same address and port.
    /// The other side is assumed to use timestamps too.
    pub fn port_rest_time(self, to_loopback: bool) -> Duration {
        let reusable = match self.reuse {
            TimeWaitReuse::Never => false,
            TimeWaitReuse::Everywhere => true,
            TimeWaitReuse::Loopback => to_loopback,
        };
        if reusable && self.timestamps { self.delay.min(LINUX_TIME_WAIT) } else { LINUX_TIME_WAIT }
    }
}

/// Whether the kernel treats connections to an address as loopback: 127.0.0.0/8 and ::1, but no other address of the
/// machine.
pub fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// The sustainable connections a second over `sources` addresses with `ports` each towards one server's port.
///
/// `life`: duration of a connection, `rest`: how long its port is unavailable afterwards; their sum must not be zero.
pub fn sustained_rate(ports: u32, sources: u32, life: Duration, rest: Duration) -> PerSecond {
    let held = (life + rest).as_secs_f64();
    PerSecond(f64::from(ports) * f64::from(sources) / held)
}

/// Ports of an inclusive range; none if it is reversed.
pub fn ports_in_range(first: u16, last: u16) -> u32 {
    (u32::from(last) + 1).saturating_sub(u32::from(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(seconds: u64, ports: u32, sources: u32) -> f64 {
        sustained_rate(ports, sources, Duration::ZERO, Duration::from_secs(seconds)).0
    }

    // Rows: I07
    #[test]
    fn return_addresses_and_closing_time() {
        for (sources, seconds, expected) in [
            (1, 15, 4300.67),
            (1, 30, 2150.33),
            (2, 15, 8601.33),
            (1, 120, 537.58),
            (1, 60, 1075.17),
        ] {
            let rate = rest(seconds, TRANSLATED_PORTS, sources);
            assert!((rate - expected).abs() < 0.005, "{sources} {seconds}: {rate}");
        }
        // The study measured less: 4,000, 1,800 and 7,000 of them.
        let share = |measured: f64, sources, seconds| {
            measured / rest(seconds, TRANSLATED_PORTS, sources) * 100.0
        };
        assert!((share(4_000.0, 1, 15) - 93.0).abs() < 0.05);
        assert!((share(1_800.0, 1, 30) - 83.7).abs() < 0.05);
        assert!((share(7_000.0, 2, 15) - 81.4).abs() < 0.05);
    }

    #[test]
    fn ranges_of_systems() {
        // 1,024 to 65,000 are 63,977 ports; the study counted one less.
        assert_eq!(ports_in_range(1_024, 65_000), 63_977);
        assert!((rest(60, 63_976, 1) - 1066.27).abs() < 0.005);
        assert!((rest(30, 63_976, 1) - 2132.53).abs() < 0.005);
        assert!((rest(60, ports_in_range(32_768, 60_999), 1) - 470.5).abs() < 0.05);
        assert!((rest(60, ports_in_range(5_000, 65_535), 1) - 1008.9).abs() < 0.05);
        assert!((rest(240, ports_in_range(1_025, 5_000), 1) - 16.6).abs() < 0.05);
        assert_eq!((ports_in_range(0, u16::MAX), ports_in_range(2, 1)), (65_536, 0));
    }

    #[test]
    fn a_port_rests_until_the_kernel_gives_it_again() {
        let second = Duration::from_secs(1);
        let minute = LINUX_TIME_WAIT;
        // Settings (reuse, timestamps, delay), to loopback, elsewhere; tests/tests/lab/resting.rs compares them with
        // the kernel.
        let rows = [
            ((Some(0), Some(1), Some(1_000)), minute, minute),
            ((Some(1), Some(1), Some(1_000)), second, second),
            ((Some(2), Some(1), Some(1_000)), second, minute),
            ((Some(1), Some(0), Some(1_000)), minute, minute),
            ((Some(2), Some(0), Some(1_000)), minute, minute),
            ((Some(2), Some(2), None), second, minute),
            ((Some(2), None, None), minute, minute),
            ((None, Some(1), None), minute, minute),
            ((Some(7), Some(1), None), minute, minute),
            ((Some(1), Some(1), Some(250)), Duration::from_millis(250), Duration::from_millis(250)),
            ((Some(1), Some(1), Some(90_000)), minute, minute),
        ];
        for ((reuse, timestamps, delay), near, far) in rows {
            let policy = TimeWaitPolicy::from_sysctls(reuse, timestamps, delay);
            assert_eq!(
                (policy.port_rest_time(true), policy.port_rest_time(false)),
                (near, far),
                "{policy:?}"
            );
        }
        for (text, near) in
            [("127.0.0.9", true), ("::1", true), ("::ffff:127.0.0.1", true), ("10.0.0.1", false)]
        {
            assert_eq!(is_loopback(text.parse().unwrap()), near, "{text}");
        }
    }

    #[test]
    fn a_connections_life_holds_its_port_too() {
        let rate = sustained_rate(60, 1, Duration::from_secs(20), Duration::from_secs(40));
        assert_eq!(rate, PerSecond(1.0));
    }
}
