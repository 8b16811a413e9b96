//! How steering is shown: tables for people, the same for scripts.

use std::path::Path;

use links::advice::{FindingSeverity, LinkFinding};
use links::steering::counters::{NetworkLoad, queue_number};
use links::steering::diagnosis::LoadSkew;
use links::steering::plan::{SteeringChange, SteeringStep};
use links::steering::snapshot::SteeringSnapshot;
use serde::Serialize;

use crate::show::paint::Paint;
use crate::show::screen;
use crate::show::table::{TextTable, left, right};

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
pub struct CoresDiagnosis {
    /// Findings that are wrong.
    pub wrong: usize,
    processors: Vec<ProcessorRow>,
    queues: Vec<QueueRow>,
    findings: Vec<CoresFindingRow>,
    /// The steps that would even it out.
    steps: Vec<PlannedStep>,
    /// Interfaces are left out that the load did not come by.
    #[serde(skip)]
    idle: bool,
    /// With --apply: the steps that were done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<AppliedSteps>,
}

#[derive(Debug, Serialize)]
struct ProcessorRow {
    number: u32,
    packets_per_second: f64,
    softirq: f64,
    busy: f64,
    dropped_per_second: f64,
    squeezed_per_second: f64,
    woken_per_second: f64,
}

#[derive(Debug, Serialize)]
struct QueueRow {
    interface: String,
    queue: u32,
    packets_per_second: Option<f64>,
    interrupts_per_second: Option<f64>,
    interrupts_go_to: String,
    rps: String,
    rps_flows: u64,
    xps: Option<String>,
}

#[derive(Debug, Serialize)]
struct CoresFindingRow {
    verdict: &'static str,
    about: String,
    found: String,
    advice: String,
    commands: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PlannedStep {
    about: String,
    why: String,
    command: String,
    undo: String,
}

/// The steps that were done, and the work before and after.
#[derive(Debug, Serialize)]
pub struct AppliedSteps {
    done: Vec<String>,
    failed: Vec<String>,
    before: Option<LoadSummary>,
    after: Option<LoadSummary>,
}

#[derive(Debug, Serialize)]
struct LoadSummary {
    packets_per_second: f64,
    /// The busiest processor and its part of the packets, 0–1.
    processor: u32,
    part: f64,
    /// How many processors' work it did.
    times: f64,
    /// The part of its time that it spent on it, 0–1.
    softirq: f64,
}

/// The document that `--undo --json` prints.
#[derive(Debug, Serialize)]
pub struct RevertedSteps {
    done: Vec<String>,
    failed: Vec<String>,
}

impl RevertedSteps {
    /// From the reverted changes, and those that could not be reverted.
    pub fn new(done: &[SteeringChange], failed: &[String]) -> RevertedSteps {
        RevertedSteps {
            done: done.iter().map(SteeringChange::command).collect(),
            failed: failed.to_vec(),
        }
    }
}

impl AppliedSteps {
    /// From the applied steps, and the work before and after them.
    pub fn new(
        done: &[SteeringStep],
        failed: &[String],
        before: &NetworkLoad,
        after: &NetworkLoad,
    ) -> AppliedSteps {
        let done = done.iter().map(|step| step.change.command()).collect();
        AppliedSteps {
            done,
            failed: failed.to_vec(),
            before: load_summary(before),
            after: load_summary(after),
        }
    }
}

fn load_summary(load: &NetworkLoad) -> Option<LoadSummary> {
    let skew = LoadSkew::from_load(load)?;
    Some(LoadSummary {
        packets_per_second: skew.packets,
        processor: skew.processor,
        part: skew.part,
        times: skew.times,
        softirq: load.processors.get(&skew.processor).map_or(0.0, |work| work.softirq),
    })
}

impl CoresDiagnosis {
    /// From the result of the checks.
    pub fn new(
        snapshot: &SteeringSnapshot,
        load: &NetworkLoad,
        findings: Vec<LinkFinding>,
        steps: &[SteeringStep],
    ) -> CoresDiagnosis {
        let processor =
            |(number, work): (&u32, &links::steering::counters::ProcessorLoad)| ProcessorRow {
                number: *number,
                packets_per_second: work.packets,
                softirq: work.softirq,
                busy: work.busy,
                dropped_per_second: work.dropped,
                squeezed_per_second: work.squeezed,
                woken_per_second: work.woken,
            };
        let planned = |step: &SteeringStep| PlannedStep {
            about: step.subject.clone(),
            why: step.why.clone(),
            command: step.change.command(),
            undo: step.change.clone().into_reverse().command(),
        };
        CoresDiagnosis {
            wrong: findings.iter().filter(|one| one.severity == FindingSeverity::Problem).count(),
            processors: load.processors.iter().map(processor).collect(),
            queues: queue_rows(snapshot, load),
            findings: findings.into_iter().map(finding_row).collect(),
            steps: steps.iter().map(planned).collect(),
            idle: snapshot.interfaces.iter().any(|one| load.is_idle(&one.name)),
            applied: None,
        }
    }

    pub fn text(
        &self,
        snapshot: &SteeringSnapshot,
        load: &NetworkLoad,
        undo_file: &Path,
    ) -> String {
        let mut out = render_tables(snapshot, load);
        out.push('\n');
        for one in &self.findings {
            let CoresFindingRow { verdict, about, found, advice, commands } = one;
            out.push_str(&format!("{verdict:5}  {about}: {found}\n"));
            if !advice.is_empty() {
                out.push_str(&format!("       {advice}\n"));
            }
            commands.iter().for_each(|line| out.push_str(&format!("         {line}\n")));
        }
        match &self.applied {
            Some(applied) => out.push_str(&render_applied(applied, undo_file)),
            None if self.steps.is_empty() && self.idle => {
                out.push_str(
                    "\nNothing is planned for interfaces that the load did not come by.\n",
                );
            }
            None if self.steps.is_empty() => {
                out.push_str("\nInterrupts and masks are as they should be.\n");
            }
            None => {
                out.push_str(
                    "\nWhat evens it out (--apply carries it out, --undo takes it back):\n",
                );
                for step in &self.steps {
                    out.push_str(&format!(
                        "  # {}: {}\n  {}\n",
                        step.about, step.why, step.command
                    ));
                }
            }
        }
        out
    }
}

fn finding_row(finding: LinkFinding) -> CoresFindingRow {
    let LinkFinding { severity: verdict, subject: about, observation: found, advice, commands } =
        finding;
    let verdict = match verdict {
        FindingSeverity::Good => "good",
        FindingSeverity::Problem => "wrong",
        FindingSeverity::Note => "note",
    };
    CoresFindingRow { verdict, about, found, advice, commands }
}

fn queue_rows(snapshot: &SteeringSnapshot, load: &NetworkLoad) -> Vec<QueueRow> {
    let mut out = Vec::new();
    for interface in &snapshot.interfaces {
        for (at, receive) in interface.receive.iter().enumerate() {
            let number = at as u32;
            let ours = interface
                .interrupts
                .iter()
                .filter(|(_, irq)| queue_number(&irq.name) == Some(number));
            let mut go = Vec::new();
            let mut rate = None;
            for (irq, interrupt) in ours {
                go.push(interrupt.processors.to_string());
                let counts = load.interrupts.get(irq).into_iter().flat_map(|each| each.values());
                *rate.get_or_insert(0.0) += counts.sum::<f64>();
            }
            go.dedup();
            out.push(QueueRow {
                interface: interface.name.clone(),
                queue: number,
                packets_per_second: load
                    .queues
                    .get(&interface.name)
                    .and_then(|all| all.get(&number))
                    .copied(),
                interrupts_per_second: rate,
                interrupts_go_to: go.join(" "),
                rps: receive.processors.to_string(),
                rps_flows: receive.flows,
                xps: interface.send.get(at).cloned().flatten().map(|mask| mask.to_string()),
            });
        }
    }
    out
}

/// The tables of processors and queues.
pub fn render_tables(snapshot: &SteeringSnapshot, load: &NetworkLoad) -> String {
    let width = screen::width();
    let paint = Paint::for_stdout();
    let number = |value: f64| format!("{value:.0}");
    let part = |value: f64| format!("{:.0} %", value * 100.0);
    let all: f64 = load.processors.values().map(|work| work.packets).sum();
    let mut table = TextTable::new(&[
        right("PROCESSOR"),
        right("PACKETS/S"),
        right("PART"),
        right("SOFTIRQ"),
        right("BUSY"),
        right("LOST/S"),
        right("SQUEEZED/S"),
        right("WOKEN/S"),
    ]);
    for (processor, work) in &load.processors {
        table.row(vec![
            processor.to_string().into(),
            number(work.packets).into(),
            part(work.packets / all.max(1.0)).into(),
            part(work.softirq).into(),
            part(work.busy).into(),
            number(work.dropped).into(),
            number(work.squeezed).into(),
            number(work.woken).into(),
        ]);
    }
    let mut out = table.render(width, paint);
    let mut table = TextTable::new(&[
        left("INTERFACE"),
        right("QUEUE"),
        right("PACKETS/S"),
        right("INTERRUPTS/S"),
        left("GO TO"),
        left("RPS"),
        right("RFS"),
        left("XPS"),
    ]);
    let or_none = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    for one in queue_rows(snapshot, load) {
        table.row(vec![
            one.interface.into(),
            one.queue.to_string().into(),
            one.packets_per_second.map_or("-".to_owned(), number).into(),
            one.interrupts_per_second.map_or("-".to_owned(), number).into(),
            or_none(one.interrupts_go_to).into(),
            or_none(one.rps).into(),
            one.rps_flows.to_string().into(),
            or_none(one.xps.unwrap_or_default()).into(),
        ]);
    }
    out.push('\n');
    out.push_str(&table.render(width, paint));
    out
}

fn render_applied(applied: &AppliedSteps, undo_file: &Path) -> String {
    let mut out = format!("\n{} carried out", applied.done.len());
    if applied.done.is_empty() {
        out.push('\n');
    } else {
        out.push_str(&format!("; what was there before is in {}\n", undo_file.display()));
    }
    applied.done.iter().for_each(|line| out.push_str(&format!("  {line}\n")));
    applied.failed.iter().for_each(|line| out.push_str(&format!("  failed: {line}\n")));
    let side = |side: &Option<LoadSummary>| match side {
        None => "no packet came".to_owned(),
        Some(one) => format!(
            "{:.0} packets per second; processor {} took {:.0} % and spent {:.0} % of its time on it",
            one.packets_per_second,
            one.processor,
            one.part * 100.0,
            one.softirq * 100.0
        ),
    };
    let before = side(&applied.before);
    let after = side(&applied.after);
    out.push_str(&format!("before: {before}\nafter:  {after}\n"));
    out
}

/// The reverted changes, as text.
pub fn render_reverted(done: &[SteeringChange], failed: &[String], undo_file: &Path) -> String {
    if done.is_empty() && failed.is_empty() {
        return format!("nothing to undo: {} is not there\n", undo_file.display());
    }
    let mut out = format!("{} undone\n", done.len());
    done.iter().for_each(|one| out.push_str(&format!("  {}\n", one.command())));
    failed.iter().for_each(|line| out.push_str(&format!("  failed, kept for later: {line}\n")));
    out
}
