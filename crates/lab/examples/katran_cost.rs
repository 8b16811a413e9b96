//! Measures the cost of a packet in the datapath by the kernel's test run, in nanoseconds, beside Katran's program.
//!
//! `katran_cost [--katran OBJECT] [--rounds N] [--cpu N] [--scale PERCENT]` prints JSON with each figure of each round.
//! The cost of the driver that varies the flows is subtracted. It sends nothing and changes no interface. Needs root.
//! `bench/packets` calculates the ratios.

#[path = "support/katran.rs"]
mod katran;
#[path = "support/ours.rs"]
mod ours;
#[path = "support/vary.rs"]
mod vary;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::json;

use self::katran::KatranProgram;
use self::ours::{ForwardMethod, SteelyardPlane};
use self::vary::{DriverTarget, ExpectedPacket, PacketDriver, SYN, packet};

/// Flows of the hits, and packets of each measurement.
const HITS: [(&str, u32, u32); 3] =
    [("1", 1, 2_000_000), ("100k", 100_000, 1_000_000), ("1m", 1_000_000, 2_000_000)];
/// `nat`: flow counts that fit the ports of one share.
const NAT_HITS: [(&str, u32, u32); 2] = [("1", 1, 2_000_000), ("64k", 60_000, 1_000_000)];
/// Flow sampling rates: one connection in this many.
const WATCHED: [(&str, u32); 3] =
    [("insight 1/1000000", 1_000_000), ("insight 1/64", 64), ("insight 1/1", 1)];
/// Flows that a repeated SYN belongs to, and packets.
const SYNS: (u32, u32) = (1_000_000, 1_000_000);

/// Figures of all rounds by `SUBJECT METHOD WHAT`.
type CostSamples = BTreeMap<String, Vec<f64>>;

#[expect(clippy::print_stdout, reason = "the figures are what the program is for")]
fn main() -> ExitCode {
    match measure() {
        Ok(figures) => {
            println!("{}", json!(figures));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("katran_cost: {error}");
            ExitCode::from(2)
        }
    }
}

struct CostOptions {
    katran: Option<PathBuf>,
    rounds: u32,
    cpu: usize,
    scale: u32,
}

fn options() -> Result<CostOptions, Box<dyn Error>> {
    let mut options = CostOptions { katran: None, rounds: 3, cpu: 0, scale: 100 };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--katran" => options.katran = Some(value()?.into()),
            "--rounds" => options.rounds = value()?.parse()?,
            "--cpu" => options.cpu = value()?.parse()?,
            "--scale" => options.scale = value()?.parse()?,
            _ => return Err(format!("unknown argument {argument}").into()),
        }
    }
    Ok(options)
}

fn measure() -> Result<CostSamples, Box<dyn Error>> {
    let options = options()?;
    let mut cpus = CpuSet::new();
    cpus.set(options.cpu);
    sched_setaffinity(None, &cpus)?;
    let mut vary = PacketDriver::new()?;
    let katran = options.katran.as_deref().map(KatranProgram::load).transpose()?;
    let ours =
        [ForwardMethod::Mac, ForwardMethod::Tunnel, ForwardMethod::Nat].map(SteelyardPlane::new);
    let mut figures = CostSamples::new();
    for _ in 0..options.rounds {
        let mut bench =
            CostMeasurement { vary: &mut vary, figures: &mut figures, scale: options.scale };
        bench.baseline()?;
        for ours in &ours {
            let ours = ours.as_ref().map_err(ToString::to_string)?;
            let name = format!("ours {}", ours.method.name());
            let hits = if ours.method == ForwardMethod::Nat { &NAT_HITS[..] } else { &HITS[..] };
            let syns = (ours.method != ForwardMethod::Nat).then_some(SYNS);
            let encapsulates = ours.method == ForwardMethod::Tunnel;
            let aim =
                DriverTarget { program: ours.program(), frags: true, expected: ours.method.sent() };
            bench.try_program(&name, &aim, encapsulates, hits, syns);
            // With flow sampling: almost no connection, the default share, and every connection.
            for (what, sample) in WATCHED {
                ours.watch(Some(sample))?;
                bench.try_program(&format!("{name} {what}"), &aim, encapsulates, &hits[..2], None);
            }
            ours.watch(None)?;
        }
        if let Some(katran) = &katran {
            let aim = DriverTarget {
                program: katran.program(),
                frags: false,
                expected: ExpectedPacket::Wrapped,
            };
            bench.try_program("katran tunnel", &aim, true, &HITS, Some(SYNS));
        }
    }
    Ok(figures)
}

struct CostMeasurement<'a> {
    vary: &'a mut PacketDriver,
    figures: &'a mut CostSamples,
    scale: u32,
}

impl CostMeasurement<'_> {
    /// Measures the driver itself in this round: without a change, and with removal of a tunnel's header.
    fn baseline(&mut self) -> Result<(), Box<dyn Error>> {
        for what in ["idle", "grow"] {
            self.vary.aim_at_own(what)?;
            let cost = self.vary.run(&packet(0), 1, false, self.packets(2_000_000))?;
            self.figures.entry(format!("driver {what}")).or_default().push(cost);
        }
        Ok(())
    }

    fn overhead(&self, encapsulates: bool) -> f64 {
        let last = |what: &str| self.figures[&format!("driver {what}")].last().copied();
        let idle = last("idle").unwrap_or(0.0);
        let grow = last("grow").unwrap_or(0.0);
        // Adding and removing room cost about the same. Adding is part of the program's work.
        if encapsulates { idle + (grow - idle) / 2.0 } else { idle }
    }

    /// Measures one program; a failure does not stop the others.
    fn try_program(
        &mut self,
        name: &str,
        aim: &DriverTarget,
        encapsulates: bool,
        hits: &[(&str, u32, u32)],
        syns: Option<(u32, u32)>,
    ) {
        if let Err(error) = self.measure_program(name, aim, encapsulates, hits, syns) {
            eprintln!("katran_cost: {name}: {error}");
        }
    }

    fn measure_program(
        &mut self,
        name: &str,
        aim: &DriverTarget,
        encapsulates: bool,
        hits: &[(&str, u32, u32)],
        syns: Option<(u32, u32)>,
    ) -> Result<(), Box<dyn Error>> {
        self.vary.aim(aim)?;
        self.vary.check_output(aim.expected)?;
        let overhead = self.overhead(encapsulates);
        let note = |figures: &mut CostSamples, what: String, cost: f64| {
            figures.entry(format!("{name} {what}")).or_default().push(cost - overhead);
        };
        for (what, flows, packets) in hits {
            // Every flow is opened in order; afterwards packets belong to random flows.
            self.vary.run(&packet(SYN), *flows, true, *flows)?;
            let packets = self.packets(*packets);
            let cost = self.vary.run(&packet(0), *flows, false, packets)?;
            note(self.figures, format!("hit {what}"), cost);
        }
        if let Some((flows, packets)) = syns {
            let packets = self.packets(packets);
            let cost = self.vary.run(&packet(SYN), flows, false, packets)?;
            note(self.figures, "syn".to_owned(), cost);
        }
        Ok(())
    }

    fn packets(&self, full: u32) -> u32 {
        (full / 100 * self.scale).max(1_000)
    }
}
