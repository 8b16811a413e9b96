//! What a study comes to: tables, plots, figures beside the source study's, and verdicts that follow from figures.
//!
//! Plain data. It is written to JSON as it is, and drawn by `page`.

use serde::Serialize;

use super::parameter::{Parameters, Told};
use crate::result::{Note, Provenance, Weight};

/// What such a file says it is.
pub const FORMAT: &str = "steelyard-study";
/// The version of the form.
pub const VERSION: u32 = 1;

/// A study's outcome.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Report {
    /// `FORMAT`.
    pub format: &'static str,
    /// `VERSION`.
    pub version: u32,
    /// Which study.
    pub study: String,
    /// What it asks.
    pub title: String,
    /// What was repeated.
    pub source: String,
    /// Whether it was the quick run.
    pub quick: bool,
    /// Whether everything that was planned was measured.
    pub complete: bool,
    /// What it was carried out with.
    pub parameters: Vec<Told>,
    /// Where the figures come from.
    pub provenance: Provenance,
    /// What follows from the figures.
    pub verdicts: Vec<Verdict>,
    /// The source study's figures beside ours.
    pub beside: Vec<Beside>,
    /// Tables and plots.
    pub sections: Vec<Section>,
    /// What must be known to read it.
    pub notes: Vec<Note>,
}

/// Something that the figures say or do not say.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Verdict {
    /// What is claimed.
    pub claim: String,
    /// Whether the figures bear it out; absent: they cannot tell.
    pub holds: Option<bool>,
    /// The figures.
    pub because: String,
}

/// A figure of the source study and ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Beside {
    /// What.
    pub what: String,
    /// Its unit.
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
pub struct Section {
    /// Its heading.
    pub title: String,
    /// What is said before.
    pub text: Vec<String>,
    /// Its table.
    pub table: Option<Table>,
    /// Its plots.
    pub plots: Vec<Plot>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Table {
    /// Headings, units with them.
    pub columns: Vec<String>,
    /// Rows, as long as there are headings.
    pub rows: Vec<Vec<Cell>>,
}

/// A place of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A figure.
    Figure(f64),
    /// Nothing was measured.
    Nothing,
}

/// A plot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// Unit of its values.
    pub unit: String,
    /// How it is drawn.
    #[serde(flatten)]
    pub drawn: Drawn,
}

/// How a plot is drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "drawn")]
pub enum Drawn {
    /// A bar for each name.
    Bars {
        /// Names and values.
        bars: Vec<(String, f64)>,
    },
    /// Lines over time, seconds.
    Lines {
        /// Names, and their times and values.
        lines: Vec<(String, Vec<(f64, f64)>)>,
    },
}

impl Report {
    /// One without figures.
    pub fn new(study: &str, title: &str, source: &str, parameters: &Parameters) -> Report {
        Report {
            format: FORMAT,
            version: VERSION,
            study: study.to_owned(),
            title: title.to_owned(),
            source: source.to_owned(),
            quick: parameters.is_quick(),
            complete: true,
            parameters: parameters.told(),
            provenance: Provenance::default(),
            verdicts: Vec::new(),
            beside: Vec::new(),
            sections: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a note; one of `Partial` marks the whole.
    pub fn note(&mut self, weight: Weight, text: String) {
        self.complete &= weight != Weight::Partial;
        self.notes.push(Note { weight, text });
    }
}

impl Verdict {
    /// A claim that figures bear out or not.
    pub fn new(claim: &str, holds: impl Into<Option<bool>>, because: String) -> Verdict {
        Verdict { claim: claim.to_owned(), holds: holds.into(), because }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(figure: f64) -> Cell {
        if figure.is_finite() { Cell::Figure(figure) } else { Cell::Nothing }
    }
}

impl From<Option<f64>> for Cell {
    fn from(figure: Option<f64>) -> Cell {
        figure.map_or(Cell::Nothing, Cell::from)
    }
}
