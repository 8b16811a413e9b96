//! The file that a benchmark leaves: every run with its figures, and where they come from.
//!
//! The form is versioned and read back by comparisons. It reads and writes no files itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::machine::activity::MachineActivity;
use crate::machine::processors::ProcessorShare;
use crate::rate_search::SearchResult;
use crate::result_note::{NoteSeverity, ResultNote};

/// What such a file says it is.
pub const FORMAT: &str = "steelyard-result";
/// The version of the form that is written and read.
pub const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    pub format: String,
    pub version: u32,
    /// Which benchmark: `http`, `connect`, `stream`.
    pub kind: String,
    /// Whether everything that was planned was measured.
    pub complete: bool,
    /// Why it is incomplete, or what must be known to read it: causes and limits of the generator.
    pub notes: Vec<ResultNote>,
    /// Where the figures come from.
    pub provenance: ResultProvenance,
    /// How a search for a rate ended; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchResult>,
    /// The runs, in the order in which they were made.
    pub runs: Vec<BenchRun>,
}

/// Where figures come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultProvenance {
    /// Version of this program.
    pub steelyard: String,
    /// When the first run began, milliseconds since 1970.
    pub began_unix_ms: u64,
    /// The command, argument by argument.
    pub command: Vec<String>,
    pub host: String,
    pub kernel: String,
    /// The processors' name, and how many this process may use.
    pub processors: String,
    /// Settings of the kernel that matter, by name; those that could not be read are absent.
    pub sysctls: BTreeMap<String, String>,
    /// How the machine is built: processors, and each interface.
    #[serde(default)]
    pub topology: BTreeMap<String, String>,
    /// Descriptors that this process may open.
    pub descriptors: u64,
    /// FNV-1a of the scenario or configuration that was used, 16 digits; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What else was set: target, address, protocol.
    pub settings: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchRun {
    /// What was tested: runs of one test are repeats of each other.
    pub test: String,
    /// Which repeat, from 1.
    pub repeat: u32,
    /// Whether it ran as planned to its end.
    pub complete: bool,
    pub metrics: Vec<BenchMetric>,
    #[serde(default)]
    pub failed: BTreeMap<String, u64>,
    #[serde(default)]
    pub series: Vec<SecondSample>,
    /// Latency: upper ends in microseconds, and how many were there; to be merged, where percentiles cannot be.
    #[serde(default)]
    pub histogram: Vec<(f64, u64)>,
    /// What each processor did meanwhile.
    #[serde(default)]
    pub processors: Vec<ProcessorShare>,
    /// How busy each of those processors was in each second of the series, 0 to 1.
    #[serde(default)]
    pub busy: Vec<Vec<f64>>,
    /// What else the machine did meanwhile.
    #[serde(default)]
    pub beside: Option<MachineActivity>,
    /// Share of a processor that each thread of the generator used, 0 to 1.
    #[serde(default)]
    pub threads_busy: Vec<f64>,
    /// What each machine did, where several made the load.
    #[serde(default)]
    pub parts: Vec<AgentPart>,
}

/// One machine's part of a load that several made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentPart {
    /// Where it listens for orders.
    pub agent: String,
    /// Its name, kernel and processors.
    pub about: String,
    /// Whether it told its end.
    pub complete: bool,
    /// Requests that it began.
    pub requests: u64,
    pub answered: u64,
    /// What its processors did.
    pub processors: Vec<ProcessorShare>,
    /// Share of a processor that each of its threads used, 0 to 1.
    pub threads_busy: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchMetric {
    pub name: String,
    pub unit: String,
    pub better: MetricDirection,
    pub value: f64,
}

/// What is better of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricDirection {
    More,
    Less,
    /// Neither: it is told, not judged.
    Neither,
}

/// One second of a run, or what was left at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SecondSample {
    /// Its end, seconds since the run began.
    pub at: f64,
    /// Requests answered in this second.
    pub rate: f64,
    /// Requests that failed in this second.
    pub failed: f64,
    /// Bits received a second.
    pub bits: f64,
    /// Latency of what was answered in it, microseconds.
    pub p50_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
    /// Share of a processor that the busiest thread of the generator needed, 0 to 1.
    #[serde(default)]
    pub busiest: f64,
}

/// Why a text is not a result.
#[derive(Debug, Error)]
pub enum ResultReadError {
    /// Not JSON, or not of this form.
    #[error("it is not a result file: {0}")]
    Form(#[from] serde_json::Error),
    /// JSON of another kind.
    #[error(
        "it says that it is `{0}`; expected `{FORMAT}`: give a file that `steelyard bench -o` wrote"
    )]
    Format(String),
    /// A form that came later or earlier.
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
    /// One of this kind without runs.
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

    /// Adds a note unless one that holds `mark` is there: what is so in every run is told once.
    pub fn add_note_once(&mut self, mark: &str, weight: NoteSeverity, text: String) {
        if !self.notes.iter().any(|note| note.text.contains(mark)) {
            self.add_note(weight, text);
        }
    }

    /// Adds a note once; one of `Partial` marks the whole.
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
