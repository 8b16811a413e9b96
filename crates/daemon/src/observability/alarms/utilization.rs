//! What is used by the second: processor time of the workers, and the rates of network cards that know their own.
//!
//! Counters of the kernel are read each time, and a use is what was added since. It judges nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::observability::headroom::ResourceUsage;
use crate::util::worker_cpu_time;

/// Counters as they were read last.
#[derive(Debug, Default)]
pub(super) struct UtilizationSampler {
    previous: Option<UtilizationReading>,
}

/// Counters with the time at which they were read.
#[derive(Debug)]
struct UtilizationReading {
    at: Instant,
    sample: UtilizationSample,
}

/// Counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct UtilizationSample {
    /// CPU time of workers in nanoseconds; `None`: the kernel does not report it.
    workers_ns: Option<u64>,
    /// Network cards by name.
    nics: BTreeMap<String, NicCounters>,
}

/// A network card's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NicCounters {
    mbit_per_second: u64,
    /// Both directions share the rate.
    half: bool,
    bytes_in: u64,
    bytes_out: u64,
}

impl UtilizationSampler {
    /// The current utilization, for this many workers; empty the first time.
    pub(super) fn look(&mut self, workers: usize) -> Vec<ResourceUsage> {
        let at = Instant::now();
        let sample = read_sample();
        let reading = UtilizationReading { at, sample: sample.clone() };
        let Some(before) = self.previous.replace(reading) else { return Vec::new() };
        usage_between(&before.sample, &sample, (at - before.at).as_secs_f64(), workers)
    }
}

/// The uses of the seconds between two readings.
fn usage_between(
    before: &UtilizationSample,
    now: &UtilizationSample,
    seconds: f64,
    workers: usize,
) -> Vec<ResourceUsage> {
    if seconds <= 0.0 {
        return Vec::new();
    }
    // A recreated device starts with new counters.
    let each = |before: u64, now: u64| now.saturating_sub(before) as f64 / seconds;
    let mut uses = Vec::new();
    if let (Some(before), Some(now)) = (before.workers_ns, now.workers_ns) {
        let used = (each(before, now) / 1e6) as u64;
        let of = "the workers".to_owned();
        uses.push(ResourceUsage {
            resource: "processor ms/s",
            subject: of,
            used,
            limit: workers as u64 * 1_000,
        });
    }
    for (name, card) in &now.nics {
        let Some(before) = before.nics.get(name) else { continue };
        let megabits = |bytes: f64| (bytes * 8.0 / 1e6) as u64;
        let come = each(before.bytes_in, card.bytes_in);
        let gone = each(before.bytes_out, card.bytes_out);
        let rows = match card.half {
            true => vec![(name.clone(), come + gone)],
            false => vec![(format!("{name} in"), come), (format!("{name} out"), gone)],
        };
        uses.extend(rows.into_iter().map(|(of, bytes)| ResourceUsage {
            resource: "Mbit/s",
            subject: of,
            used: megabits(bytes),
            limit: card.mbit_per_second,
        }));
    }
    uses
}

fn read_sample() -> UtilizationSample {
    UtilizationSample {
        workers_ns: worker_cpu_time::worker_cpu_nanos(),
        nics: cards(Path::new("/sys/class/net")),
    }
}

/// Hardware interfaces that report a speed. The speed of virtual interfaces has no meaning.
fn cards(folder: &Path) -> BTreeMap<String, NicCounters> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let found = entries.filter_map(|entry| {
        let path = entry.path();
        path.join("device").exists().then_some(())?;
        let text = |file: &str| fs::read_to_string(path.join(file)).ok();
        let count = |file: &str| text(file)?.trim().parse::<u64>().ok();
        // Unknown is -1, or cannot be read.
        let mbit_per_second = count("speed").filter(|speed| *speed > 0)?;
        let card = NicCounters {
            mbit_per_second,
            half: text("duplex").is_some_and(|duplex| duplex.trim() == "half"),
            bytes_in: count("statistics/rx_bytes")?,
            bytes_out: count("statistics/tx_bytes")?,
        };
        Some((entry.file_name().into_string().ok()?, card))
    });
    found.take(CARDS).collect()
}

/// Cards that are looked at.
const CARDS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(workers_ns: u64, half: bool, bytes_in: u64, bytes_out: u64) -> UtilizationSample {
        let card = NicCounters { mbit_per_second: 1_000, half, bytes_in, bytes_out };
        UtilizationSample { workers_ns: Some(workers_ns), nics: [("eth0".to_owned(), card)].into() }
    }

    #[test]
    fn a_use_is_what_was_added_each_second() {
        let found = |half, before: [u64; 3], now: [u64; 3]| {
            let read = |[ns, come, gone]: [u64; 3]| at(ns, half, come, gone);
            let uses = usage_between(&read(before), &read(now), 2.0, 4);
            uses.into_iter().map(|one| (one.subject, one.used, one.limit)).collect::<Vec<_>>()
        };
        let row = |of: &str, used, limit| (of.to_owned(), used, limit);
        assert_eq!(
            found(false, [0, 0, 0], [3_000_000_000, 25_000_000, 225_000_000]),
            [
                row("the workers", 1_500, 4_000),
                row("eth0 in", 100, 1_000),
                row("eth0 out", 900, 1_000)
            ]
        );
        assert_eq!(
            found(true, [0, 0, 0], [0, 25_000_000, 225_000_000]),
            [row("the workers", 0, 4_000), row("eth0", 1_000, 1_000)]
        );
        // The device was recreated meanwhile.
        assert_eq!(found(true, [0, 9, 9], [0, 0, 0])[1], row("eth0", 0, 1_000));
        assert!(usage_between(&at(0, true, 0, 0), &at(1, true, 1, 1), 0.0, 1).is_empty());
        let added = usage_between(&UtilizationSample::default(), &at(1, true, 1, 1), 1.0, 1);
        assert!(added.is_empty(), "a card that has come was not there before");
    }

    #[test]
    fn virtual_devices_and_unknown_rates_are_left_out() {
        let folder = crate::util::scratch_dir::Scratch::new("cards").unwrap();
        for (name, speed, device) in
            [("eth0", "25000\n", true), ("eth1", "-1\n", true), ("veth0", "10000\n", false)]
        {
            let path = folder.path().join(name);
            fs::create_dir_all(path.join("statistics")).unwrap();
            fs::write(path.join("speed"), speed).unwrap();
            fs::write(path.join("duplex"), "full\n").unwrap();
            fs::write(path.join("statistics/rx_bytes"), "7\n").unwrap();
            fs::write(path.join("statistics/tx_bytes"), "8\n").unwrap();
            if device {
                fs::create_dir(path.join("device")).unwrap();
            }
        }
        let found = cards(folder.path());
        let wanted =
            NicCounters { mbit_per_second: 25_000, half: false, bytes_in: 7, bytes_out: 8 };
        assert_eq!(found, [("eth0".to_owned(), wanted)].into());
        assert!(cards(&folder.path().join("none")).is_empty());
    }

    #[test]
    fn the_first_look_reports_nothing_and_the_kernel_can_be_read() {
        let mut rates = UtilizationSampler::default();
        assert!(rates.look(1).is_empty());
        let _ = rates.look(1);
    }
}
