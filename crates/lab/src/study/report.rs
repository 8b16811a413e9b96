//! What a study comes to: tables, plots, figures beside the source study's, and verdicts that follow from figures.
//!
//! Plain data. It is written to JSON as it is, and drawn by `page`.

use serde::Serialize;

use super::parameter::{ParameterReport, Parameters};
use crate::result::ResultProvenance;
use crate::result_note::{NoteSeverity, ResultNote};

/// What such a file says it is.
pub const FORMAT: &str = "steelyard-study";
/// The version of the form.
pub const VERSION: u32 = 1;

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct StudyReport {
    pub format: &'static str,
    pub version: u32,
    pub study: String,
    pub title: String,
    pub source: String,
    /// Whether it was the quick run.
    pub quick: bool,
    /// Whether everything that was planned was measured.
    pub complete: bool,
    /// What it was carried out with.
    pub parameters: Vec<ParameterReport>,
    /// Where the figures come from.
    pub provenance: ResultProvenance,
    /// What follows from the figures.
    pub verdicts: Vec<ClaimResult>,
    /// The source study's figures beside ours.
    pub beside: Vec<SourceComparison>,
    pub sections: Vec<ReportSection>,
    /// What must be known to read it.
    pub notes: Vec<ResultNote>,
}

/// Something that the figures say or do not say.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClaimResult {
    pub claim: String,
    /// Whether the figures bear it out; absent: they cannot tell.
    pub holds: Option<bool>,
    pub because: String,
}

/// A figure of the source study and ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct SourceComparison {
    pub what: String,
    pub unit: &'static str,
    /// The source study's; absent: not told there.
    pub source: Option<f64>,
    /// What arithmetic says for our parameters; absent: nothing.
    pub forecast: Option<f64>,
    /// Ours; absent: not measured.
    pub ours: Option<f64>,
    /// Why ours differs, as far as parameters tell.
    pub differs: String,
}

/// A part of the report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReportSection {
    pub title: String,
    /// What is said before.
    pub text: Vec<String>,
    pub table: Option<ReportTable>,
    pub plots: Vec<ReportPlot>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReportTable {
    /// Headings, units with them.
    pub columns: Vec<String>,
    /// Rows, as long as there are headings.
    pub rows: Vec<Vec<TableCell>>,
}

/// A place of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum TableCell {
    Text(String),
    Figure(f64),
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReportPlot {
    pub title: String,
    /// Unit of its values.
    pub unit: String,
    /// How it is drawn.
    #[serde(flatten)]
    pub drawn: PlotShape,
}

/// How a plot is drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "drawn")]
pub enum PlotShape {
    /// A bar for each name.
    Bars { bars: Vec<(String, f64)> },
    /// Lines over time, seconds.
    Lines {
        /// Names, and their times and values.
        lines: Vec<(String, Vec<(f64, f64)>)>,
    },
}

impl StudyReport {
    pub fn new(study: &str, title: &str, source: &str, parameters: &Parameters) -> StudyReport {
        StudyReport {
            format: FORMAT,
            version: VERSION,
            study: study.to_owned(),
            title: title.to_owned(),
            source: source.to_owned(),
            quick: parameters.is_quick(),
            complete: true,
            parameters: parameters.to_report(),
            provenance: ResultProvenance::default(),
            verdicts: Vec::new(),
            beside: Vec::new(),
            sections: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a note; one of `Partial` marks the whole.
    pub fn note(&mut self, weight: NoteSeverity, text: String) {
        self.complete &= weight != NoteSeverity::Partial;
        self.notes.push(ResultNote { weight, text });
    }
}

impl ClaimResult {
    /// A claim that figures bear out or not.
    pub fn new(claim: &str, holds: impl Into<Option<bool>>, because: String) -> ClaimResult {
        ClaimResult { claim: claim.to_owned(), holds: holds.into(), because }
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> TableCell {
        TableCell::Text(text.to_owned())
    }
}

impl From<String> for TableCell {
    fn from(text: String) -> TableCell {
        TableCell::Text(text)
    }
}

impl From<f64> for TableCell {
    fn from(figure: f64) -> TableCell {
        if figure.is_finite() { TableCell::Figure(figure) } else { TableCell::Nothing }
    }
}

impl From<Option<f64>> for TableCell {
    fn from(figure: Option<f64>) -> TableCell {
        figure.map_or(TableCell::Nothing, TableCell::from)
    }
}
