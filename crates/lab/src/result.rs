//! The result file of a benchmark: every run with its figures and provenance.
//!
//! The format is versioned, and comparisons read it. This module reads and writes no files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::load::LatencyBucket;
use crate::machine::activity::MachineActivity;
use crate::machine::processors::ProcessorShare;
use crate::rate_search::SearchResult;
use crate::result_note::{NoteSeverity, ResultNote};

/// The value of `format` in a result file.
pub const FORMAT: &str = "steelyard-result";
/// The version of the format that is written and read.
pub const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    pub format: String,
    pub version: u32,
    /// The benchmark: `http`, `connect`, `stream`.
    pub kind: String,
    /// Whether all planned measurements were made.
    pub complete: bool,
    /// What a reader must know: causes of missing measurements, and limits of the generator.
    pub notes: Vec<ResultNote>,
    pub provenance: ResultProvenance,
    /// The end of a rate search; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchResult>,
    /// The runs in the order in which they were made.
    pub runs: Vec<BenchRun>,
}

/// The origin of the figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultProvenance {
    /// Version of this program.
    pub steelyard: String,
    /// Start of the first run, milliseconds since 1970.
    pub began_unix_ms: u64,
    /// The command, argument by argument.
    pub command: Vec<String>,
    pub host: String,
    pub kernel: String,
    /// The processors' model, and how many this process may use.
    pub processors: String,
    /// Kernel settings that affect measurements, by name; unreadable ones are absent.
    pub sysctls: BTreeMap<String, String>,
    /// The machine's hardware: processors, and each interface.
    #[serde(default)]
    pub topology: BTreeMap<String, String>,
    /// Limit for open descriptors of this process.
    pub descriptors: u64,
    /// FNV-1a of the scenario or configuration, 16 digits; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Other settings: target, address, protocol.
    pub settings: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchRun {
    /// The name of the test; runs with the same name are repeats.
    pub test: String,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Whether the run ended as planned.
    pub complete: bool,
    pub metrics: Vec<BenchMetric>,
    #[serde(default)]
    pub failed: BTreeMap<String, u64>,
    #[serde(default)]
    pub series: Vec<SecondSample>,
    /// Latency histogram. Unlike percentiles, histograms can be merged.
    #[serde(default)]
    pub histogram: Vec<LatencyBucket>,
    #[serde(default)]
    pub processors: Vec<ProcessorShare>,
    /// Busy share of each processor in each second of the series, 0 to 1.
    #[serde(default)]
    pub busy: Vec<Vec<f64>>,
    /// Other activity of the machine during the run.
    #[serde(default)]
    pub beside: Option<MachineActivity>,
    /// Processor share of each thread of the generator, 0 to 1.
    #[serde(default)]
    pub threads_busy: Vec<f64>,
    /// The part of each machine, if several made the load.
    #[serde(default)]
    pub parts: Vec<AgentPart>,
}

/// One machine's part of a load that several machines made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentPart {
    /// The agent's address.
    pub agent: String,
    /// Hostname, kernel and processors.
    pub about: String,
    /// Whether the agent reported its end.
    pub complete: bool,
    /// Requests that it started.
    pub requests: u64,
    pub answered: u64,
    pub processors: Vec<ProcessorShare>,
    /// Processor share of each of its threads, 0 to 1.
    pub threads_busy: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchMetric {
    pub name: String,
    pub unit: String,
    pub better: MetricDirection,
    pub value: f64,
}

/// The better direction of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricDirection {
    More,
    Less,
    /// Neither direction is better; the figure is only reported.
    Neither,
}

/// One second of a run, or the remainder at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SecondSample {
    /// Its end, seconds since the run started.
    pub at: f64,
    /// Requests answered in this second.
    pub rate: f64,
    /// Requests that failed in this second.
    pub failed: f64,
    /// Bits received a second.
    pub bits: f64,
    /// Latency of the requests answered in this second, microseconds.
    pub p50_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
    /// Processor share of the generator's busiest thread, 0 to 1.
    #[serde(default)]
    pub busiest: f64,
}

/// Why a file is not a valid result.
#[derive(Debug, Error)]
pub enum ResultReadError {
    /// Not JSON, or not a result.
    #[error("it is not a result file: {0}")]
    Form(#[from] serde_json::Error),
    /// JSON of another format.
    #[error(
        "it says that it is `{0}`; expected `{FORMAT}`: give a file that `steelyard bench -o` wrote"
    )]
    Format(String),
    /// A later or earlier version of the format.
    #[error("its version is {0}; this program reads {VERSION}")]
    Version(u32),
    #[error("it holds no run")]
    Empty,
}

pub fn parse_result(text: &str) -> Result<BenchResult, ResultReadError> {
    let result: BenchResult = serde_json::from_str(text)?;
    match &result {
        BenchResult { format, .. } if format != FORMAT => {
            Err(ResultReadError::Format(format.clone()))
        }
        BenchResult { version, .. } if *version != VERSION => {
            Err(ResultReadError::Version(*version))
        }
        BenchResult { runs, .. } if runs.is_empty() => Err(ResultReadError::Empty),
        _ => Ok(result),
    }
}

impl BenchMetric {
    pub fn new(name: &str, unit: &str, better: MetricDirection, value: f64) -> BenchMetric {
        BenchMetric { name: name.to_owned(), unit: unit.to_owned(), better, value }
    }
}

impl BenchResult {
    /// An empty result of this kind.
    pub fn new(kind: &str, provenance: ResultProvenance) -> BenchResult {
        BenchResult {
            format: FORMAT.to_owned(),
            version: VERSION,
            kind: kind.to_owned(),
            complete: true,
            notes: Vec::new(),
            provenance,
            search: None,
            runs: Vec::new(),
        }
    }

    /// Adds a note unless an existing note contains `mark`, so that a fact about every run is reported once.
    pub fn add_note_once(&mut self, mark: &str, weight: NoteSeverity, text: String) {
        if !self.notes.iter().any(|note| note.text.contains(mark)) {
            self.add_note(weight, text);
        }
    }

    /// Adds a note unless it exists. A `Partial` note marks the whole result as incomplete.
    pub fn add_note(&mut self, weight: NoteSeverity, text: String) {
        self.complete &= weight != NoteSeverity::Partial;
        let note = ResultNote { weight, text };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_back_and_others_are_refused() {
        let mut result = BenchResult::new("http", ResultProvenance::default());
        let text = |result: &BenchResult| serde_json::to_string(result).unwrap();
        assert!(matches!(parse_result(&text(&result)), Err(ResultReadError::Empty)));
        let metric = BenchMetric::new("rate", "requests/s", MetricDirection::More, 5.0);
        result.runs.push(BenchRun {
            test: "t".to_owned(),
            metrics: vec![metric],
            ..BenchRun::default()
        });
        result.add_note(NoteSeverity::Partial, "stopped".to_owned());
        result.add_note(NoteSeverity::Partial, "stopped".to_owned());
        assert!(!result.complete && result.notes.len() == 1);
        assert_eq!(parse_result(&text(&result)).unwrap(), result);
        result.version = 9;
        assert!(matches!(parse_result(&text(&result)), Err(ResultReadError::Version(9))));
        result.format = "else".to_owned();
        assert!(matches!(parse_result(&text(&result)), Err(ResultReadError::Format(_))));
        assert!(matches!(parse_result("{"), Err(ResultReadError::Form(_))));
    }
}
