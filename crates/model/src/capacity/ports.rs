//! Connections a second that a stock of ports allows, when each rests for a time after its connection has closed.
//!
//! A port is taken for one pair of addresses and the other side's port, not for an address alone: two servers share
//! nothing. The rate is the one that can be sustained; a rested stock lets more through in a burst.

use std::time::Duration;

use super::quantity::PerSecond;

/// Ports that a translating balancer uses of each return address: all above the reserved 1,024, less two.
pub const TRANSLATED_PORTS: u32 = 64_510;

/// How long Linux keeps a connection in TIME_WAIT. It is compiled in: no sysctl changes it.
pub const LINUX_TIME_WAIT: Duration = Duration::from_secs(60);

/// Connections a second that can be sustained over `sources` addresses with `ports` each towards one server's port.
///
/// `life`: how long a connection lasts, `rest`: how long its port rests afterwards; together not zero.
pub fn sustained(ports: u32, sources: u32, life: Duration, rest: Duration) -> PerSecond {
    let held = (life + rest).as_secs_f64();
    PerSecond(f64::from(ports) * f64::from(sources) / held)
}

/// Ports of an inclusive range; none of one that is reversed.
pub fn of_range(first: u16, last: u16) -> u32 {
    (u32::from(last) + 1).saturating_sub(u32::from(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(seconds: u64, ports: u32, sources: u32) -> f64 {
        sustained(ports, sources, Duration::ZERO, Duration::from_secs(seconds)).0
    }

    #[test]
    fn return_addresses_and_closing_time() {
        for (sources, seconds, expected) in [
            (1, 15, 4300.67),
            (1, 30, 2150.33),
            (2, 15, 8601.33),
            (1, 120, 537.58),
            (1, 60, 1075.17),
        ] {
            let found = rest(seconds, TRANSLATED_PORTS, sources);
            assert!((found - expected).abs() < 0.005, "{sources} {seconds}: {found}");
        }
        // What was measured then stayed below: 4,000, 1,800 and 7,000 of them.
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
        assert_eq!(of_range(1_024, 65_000), 63_977);
        assert!((rest(60, 63_976, 1) - 1066.27).abs() < 0.005);
        assert!((rest(30, 63_976, 1) - 2132.53).abs() < 0.005);
        assert!((rest(60, of_range(32_768, 60_999), 1) - 470.5).abs() < 0.05);
        assert!((rest(60, of_range(5_000, 65_535), 1) - 1008.9).abs() < 0.05);
        assert!((rest(240, of_range(1_025, 5_000), 1) - 16.6).abs() < 0.05);
        assert_eq!((of_range(0, u16::MAX), of_range(2, 1)), (65_536, 0));
    }

    #[test]
    fn a_connections_life_holds_its_port_too() {
        let found = sustained(60, 1, Duration::from_secs(20), Duration::from_secs(40));
        assert_eq!(found, PerSecond(1.0));
    }
}
