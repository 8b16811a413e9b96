//! The report of a study: tables, plots, figures beside the source study's, and conclusions.
//!
//! Plain data, serialised to JSON and rendered by `page`.

use serde::Serialize;

use super::parameter::{ParameterReport, Parameters};
use crate::result::ResultProvenance;
use crate::result_note::{NoteSeverity, ResultNote};

/// The value of `format` in a report's JSON.
pub const FORMAT: &str = "steelyard-study";
/// The version of the format.
pub const VERSION: u32 = 1;

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct StudyReport {
    pub format: &'static str,
    pub version: u32,
    pub study: String,
    pub title: String,
    pub source: String,
    /// Whether this was a quick run.
    pub quick: bool,
    /// Whether all planned measurements were made.
    pub complete: bool,
    pub parameters: Vec<ParameterReport>,
    pub provenance: ResultProvenance,
    /// Conclusions from the figures.
    pub verdicts: Vec<ClaimResult>,
    /// The source study's figures beside ours.
    pub beside: Vec<SourceComparison>,
    pub sections: Vec<ReportSection>,
    /// What a reader must know about the measurements.
    pub notes: Vec<ResultNote>,
}

/// A claim, and whether the figures support it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClaimResult {
    pub claim: String,
    /// Whether the figures support the claim; absent: they cannot decide it.
    pub holds: Option<bool>,
    pub because: String,
}

/// A figure of the source study beside ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct SourceComparison {
    pub what: String,
    pub unit: &'static str,
    /// The source study's figure; absent: not published.
    pub source: Option<f64>,
    /// The figure calculated for our parameters; absent: none.
    pub forecast: Option<f64>,
    /// Our figure; absent: not measured.
    pub ours: Option<f64>,
    /// Parameters that differ from the source study's and explain a different figure.
    pub differs: String,
}

/// A section of the report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReportSection {
    pub title: String,
    /// Paragraphs before the table.
    pub text: Vec<String>,
    pub table: Option<ReportTable>,
    pub plots: Vec<ReportPlot>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReportTable {
    /// Headings with their units.
    pub columns: Vec<String>,
    /// Rows with one cell for each heading.
    pub rows: Vec<Vec<TableCell>>,
}

/// A cell of a table.
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
    /// Unit of the values.
    pub unit: String,
    #[serde(flatten)]
    pub drawn: PlotShape,
}

/// A named bar of a plot. In JSON it is a list of name and value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "(String, f64)")]
pub struct PlotBar {
    pub name: String,
    pub value: f64,
}

impl From<PlotBar> for (String, f64) {
    fn from(PlotBar { name, value }: PlotBar) -> (String, f64) {
        (name, value)
    }
}

/// A value at a time of a run. In JSON it is a list of both.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "(f64, f64)")]
pub struct PlotPoint {
    /// Seconds since the run began.
    pub seconds: f64,
    pub value: f64,
}

impl From<PlotPoint> for (f64, f64) {
    fn from(PlotPoint { seconds, value }: PlotPoint) -> (f64, f64) {
        (seconds, value)
    }
}

/// A named line of a plot over time. In JSON it is a list of name and points.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "(String, Vec<PlotPoint>)")]
pub struct PlotLine {
    pub name: String,
    pub points: Vec<PlotPoint>,
}

impl From<PlotLine> for (String, Vec<PlotPoint>) {
    fn from(PlotLine { name, points }: PlotLine) -> (String, Vec<PlotPoint>) {
        (name, points)
    }
}

/// The shape of a plot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "drawn")]
pub enum PlotShape {
    /// One bar for each name.
    Bars { bars: Vec<PlotBar> },
    /// Lines over time in seconds.
    Lines { lines: Vec<PlotLine> },
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

    /// Adds a note. A `Partial` note marks the whole report as incomplete.
    pub fn note(&mut self, weight: NoteSeverity, text: String) {
        self.complete &= weight != NoteSeverity::Partial;
        self.notes.push(ResultNote { weight, text });
    }
}

impl ClaimResult {
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
