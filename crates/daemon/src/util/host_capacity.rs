//! What forecasts need to know of this machine, read from /proc. What cannot be read is what Linux has unless it is set.

use std::ops::RangeInclusive;
use std::time::Duration;

use model::capacity::demand::MachineCapacity;
use model::capacity::ports::{TimeWaitPolicy, ports_in_range};
use model::capacity::quantity::ByteCount;
use model::capacity::wire::Duplex;
use rustix::time::{ClockId, clock_gettime};

/// Linux's range of ports.
const PORTS: RangeInclusive<u16> = 32_768..=60_999;
/// Linux's largest buffer to the client, bytes.
const SEND_BUFFER: u64 = 4 << 20;
/// Linux's largest buffer from the client, bytes.
const RECEIVE_BUFFER: u64 = 6 << 20;

/// This machine; `descriptors` is the limit of this process.
pub fn read_host_capacity(descriptors: u64) -> MachineCapacity {
    let ports = local_port_range();
    let largest =
        |name, usual: u64| ByteCount(numbers(name).get(2).copied().unwrap_or(usual) as f64);
    MachineCapacity {
        processors: std::thread::available_parallelism()
            .map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
        descriptors,
        ports: ports_in_range(*ports.start(), *ports.end()),
        time_wait: time_wait(),
        link: None,
        duplex: Duplex::Full,
        receive_buffer: largest("tcp_rmem", RECEIVE_BUFFER),
        send_buffer: largest("tcp_wmem", SEND_BUFFER),
        cost: None,
    }
}

/// The first and the last port that connections begin from.
pub fn local_port_range() -> RangeInclusive<u16> {
    let ports = numbers("ip_local_port_range");
    let port =
        |at: usize, usual| ports.get(at).and_then(|n| u16::try_from(*n).ok()).unwrap_or(usual);
    port(0, *PORTS.start())..=port(1, *PORTS.end())
}

/// How the kernel handles ports in TIME_WAIT.
pub fn time_wait() -> TimeWaitPolicy {
    let first = |name| numbers(name).first().copied();
    TimeWaitPolicy::from_sysctls(
        first("tcp_tw_reuse"),
        first("tcp_timestamps"),
        first("tcp_tw_reuse_delay"),
    )
}

/// Processor time of this process, all its threads, since its start.
pub fn process_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let whole = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(whole, u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn numbers(name: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_processors_ports_and_buffers_and_a_test_spends_time() {
        let here = read_host_capacity(1_024);
        assert!(here.processors >= 1 && here.ports > 0 && here.descriptors == 1_024);
        assert!(here.receive_buffer.0 >= 4_096.0 && here.send_buffer.0 >= 4_096.0);
        assert!(process_cpu_time() > Duration::ZERO);
    }
}
