//! What a packet costs in the datapath: nanoseconds through the kernel's test run, beside Katran's own program.
//!
//! `katran_cost [--katran OBJECT] [--rounds N] [--cpu N] [--scale PERCENT]` prints JSON: each figure of each round,
//! without the cost of the driver that varies the flows. Nothing is sent, no interface is touched. Needs root. The
//! ratios are made by `bench/packets`.

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

use self::katran::Katran;
use self::ours::{Method, Ours};
use self::vary::{Aim, SYN, Sent, Vary, packet};

/// Flows of the hits, and packets of each measurement.
const HITS: [(&str, u32, u32); 3] =
    [("1", 1, 2_000_000), ("100k", 100_000, 1_000_000), ("1m", 1_000_000, 2_000_000)];
/// `nat`: flows that fit the ports of one share.
const NAT_HITS: [(&str, u32, u32); 2] = [("1", 1, 2_000_000), ("64k", 60_000, 1_000_000)];
/// One connection in so many watched, by name.
const WATCHED: [(&str, u32); 3] =
    [("insight 1/1000000", 1_000_000), ("insight 1/64", 64), ("insight 1/1", 1)];
/// Flows that a SYN repeats.
const SYNS: (u32, u32) = (1_000_000, 1_000_000);

/// Figures of all rounds by `SUBJECT METHOD WHAT`.
type Figures = BTreeMap<String, Vec<f64>>;

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

struct Options {
    katran: Option<PathBuf>,
    rounds: u32,
    cpu: usize,
    scale: u32,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut options = Options { katran: None, rounds: 3, cpu: 0, scale: 100 };
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

fn measure() -> Result<Figures, Box<dyn Error>> {
    let options = options()?;
    let mut cpus = CpuSet::new();
    cpus.set(options.cpu);
    sched_setaffinity(None, &cpus)?;
    let mut vary = Vary::new()?;
    let katran = options.katran.as_deref().map(Katran::load).transpose()?;
    let ours = [Method::Mac, Method::Tunnel, Method::Nat].map(Ours::new);
    let mut figures = Figures::new();
    for _ in 0..options.rounds {
        let mut bench = Bench { vary: &mut vary, figures: &mut figures, scale: options.scale };
        bench.baseline()?;
        for ours in &ours {
            let ours = ours.as_ref().map_err(ToString::to_string)?;
            let name = format!("ours {}", ours.method.name());
            let hits = if ours.method == Method::Nat { &NAT_HITS[..] } else { &HITS[..] };
            let syns = (ours.method != Method::Nat).then_some(SYNS);
            let encapsulates = ours.method == Method::Tunnel;
            let aim = Aim { program: ours.program(), frags: true, sent: ours.method.sent() };
            bench.tried(&name, &aim, encapsulates, hits, syns);
            // With insight: nothing drawn, as many as by default, and every one.
            for (what, sample) in WATCHED {
                ours.watch(Some(sample))?;
                bench.tried(&format!("{name} {what}"), &aim, encapsulates, &hits[..2], None);
            }
            ours.watch(None)?;
        }
        if let Some(katran) = &katran {
            let aim = Aim { program: katran.program(), frags: false, sent: Sent::Wrapped };
            bench.tried("katran tunnel", &aim, true, &HITS, Some(SYNS));
        }
    }
    Ok(figures)
}

struct Bench<'a> {
    vary: &'a mut Vary,
    figures: &'a mut Figures,
    scale: u32,
}

impl Bench<'_> {
    /// What the driver itself costs in this round: plainly, and where it takes a tunnel's header off again.
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
        let (idle, grow) = (last("idle").unwrap_or(0.0), last("grow").unwrap_or(0.0));
        // Making room and taking it away again cost about the same; the first is the program's own.
        if encapsulates { idle + (grow - idle) / 2.0 } else { idle }
    }

    /// Measures one program; one that fails leaves the others their figures.
    fn tried(
        &mut self,
        name: &str,
        aim: &Aim,
        encapsulates: bool,
        hits: &[(&str, u32, u32)],
        syns: Option<(u32, u32)>,
    ) {
        if let Err(error) = self.subject(name, aim, encapsulates, hits, syns) {
            eprintln!("katran_cost: {name}: {error}");
        }
    }

    fn subject(
        &mut self,
        name: &str,
        aim: &Aim,
        encapsulates: bool,
        hits: &[(&str, u32, u32)],
        syns: Option<(u32, u32)>,
    ) -> Result<(), Box<dyn Error>> {
        self.vary.aim(aim)?;
        self.vary.acts(aim.sent)?;
        let overhead = self.overhead(encapsulates);
        let note = |figures: &mut Figures, what: String, cost: f64| {
            figures.entry(format!("{name} {what}")).or_default().push(cost - overhead);
        };
        for (what, flows, packets) in hits {
            // Every flow is opened, in order; then any of them comes.
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
