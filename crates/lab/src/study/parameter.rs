//! The parameters of a study: named values with defaults for the full and the quick run, and the source study's values.
//!
//! Reports take all their parameter data from here.

use std::time::Duration;

use model::config::suggestion::nearest_match;
use model::config::unit::{BitsPerSecond, ByteSize, Time};
use serde::Serialize;
use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    Time,
    Times,
    /// A number of bytes.
    Size,
    /// Sizes in bytes or `auto`, separated by commas.
    Buffers,
    Rate,
    /// A whole number from 1.
    Number,
    /// Whole numbers from 1, separated by commas.
    Numbers,
}

/// A parameter of a study.
#[derive(Clone, Copy, Debug)]
pub struct ParameterSpec {
    pub name: &'static str,
    pub meaning: &'static str,
    pub kind: ParameterKind,
    /// Default in a full run.
    pub full: &'static str,
    /// Default in a quick run.
    pub quick: &'static str,
    /// Value in the source study; empty: not published.
    pub source: &'static str,
}

#[derive(Clone, Debug)]
pub struct Parameters {
    specs: &'static [ParameterSpec],
    values: Vec<String>,
    quick: bool,
}

/// A parameter in a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ParameterReport {
    pub name: String,
    pub meaning: String,
    pub here: String,
    /// Value in the source study; empty: not published.
    pub source: String,
    /// Whether both values are known and differ.
    pub differs: bool,
}

/// Why a parameter could not be set.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParameterError {
    #[error("`{0}` is no setting; expected NAME=VALUE, such as {1}")]
    Form(String, String),
    #[error("the study has no parameter `{0}`; {1}")]
    Unknown(String, String),
    /// The value is invalid.
    #[error("{0}: found `{1}`, expected {2}")]
    Value(&'static str, String, &'static str),
}

impl ParameterKind {
    fn expected(self) -> &'static str {
        match self {
            ParameterKind::Time => "a time above 0, such as 65ms",
            ParameterKind::Times => "times above 0, by commas, such as 15s,30s",
            ParameterKind::Size => "a size above 0, such as 3KiB",
            ParameterKind::Buffers => {
                "sizes from 4KiB to 64MiB or auto, by commas, such as 32KiB,auto"
            }
            ParameterKind::Rate => "a rate, such as 200Mbit/s",
            ParameterKind::Number => "a whole number from 1 to 10000000",
            ParameterKind::Numbers => {
                "whole numbers from 1 to 10000000, by commas, such as 10,50,100"
            }
        }
    }

    fn accepts(self, text: &str) -> bool {
        let each = |fits: fn(&str) -> bool| text.split(',').all(fits);
        match self {
            ParameterKind::Time => time(text).is_some(),
            ParameterKind::Times => each(|part| time(part).is_some()),
            ParameterKind::Size => size(text).is_some(),
            ParameterKind::Buffers => each(|part| {
                part == "auto" || size(part).is_some_and(|n| (4 << 10..=64 << 20).contains(&n))
            }),
            ParameterKind::Rate => rate(text).is_some(),
            ParameterKind::Number => number(text).is_some(),
            ParameterKind::Numbers => each(|part| number(part).is_some()),
        }
    }
}

fn time(text: &str) -> Option<Duration> {
    text.parse::<Time>().ok().map(|time| time.0).filter(|time| !time.is_zero())
}

fn size(text: &str) -> Option<u64> {
    text.parse::<ByteSize>().ok().map(|size| size.0).filter(|size| *size > 0)
}

fn rate(text: &str) -> Option<u64> {
    text.parse::<BitsPerSecond>().ok().map(|rate| rate.0).filter(|rate| *rate > 0)
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| (1..=10_000_000).contains(number))
}

impl Parameters {
    pub fn new(specs: &'static [ParameterSpec], quick: bool) -> Parameters {
        let value = |spec: &ParameterSpec| if quick { spec.quick } else { spec.full };
        Parameters {
            specs,
            values: specs.iter().map(|spec| value(spec).to_owned()).collect(),
            quick,
        }
    }

    pub fn is_quick(&self) -> bool {
        self.quick
    }

    pub fn set(&mut self, setting: &str) -> Result<(), ParameterError> {
        let example = || {
            self.specs
                .first()
                .map_or_else(String::new, |spec| format!("{}={}", spec.name, spec.full))
        };
        let (name, value) = setting
            .split_once('=')
            .ok_or_else(|| ParameterError::Form(setting.to_owned(), example()))?;
        let names = || self.specs.iter().map(|spec| spec.name);
        let Some(at) = names().position(|known| known == name) else {
            let meant = match nearest_match(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(ParameterError::Unknown(name.to_owned(), meant));
        };
        let spec = self.specs[at];
        if !spec.kind.accepts(value) {
            return Err(ParameterError::Value(spec.name, value.to_owned(), spec.kind.expected()));
        }
        value.clone_into(&mut self.values[at]);
        Ok(())
    }

    pub fn to_report(&self) -> Vec<ParameterReport> {
        let pairs = self.specs.iter().zip(&self.values);
        let reports = pairs.map(|(spec, value)| ParameterReport {
            name: spec.name.to_owned(),
            meaning: spec.meaning.to_owned(),
            here: value.clone(),
            source: spec.source.to_owned(),
            differs: !spec.source.is_empty() && spec.source != value,
        });
        reports.collect()
    }

    /// The text of a parameter; empty when no parameter has this name.
    pub fn text(&self, name: &str) -> &str {
        let found = self.specs.iter().position(|spec| spec.name == name);
        found.map_or("", |at| self.values[at].as_str())
    }

    pub fn time(&self, name: &str) -> Duration {
        time(self.text(name)).unwrap_or_default()
    }

    pub fn times(&self, name: &str) -> Vec<Duration> {
        self.text(name).split(',').filter_map(time).collect()
    }

    pub fn size(&self, name: &str) -> u64 {
        size(self.text(name)).unwrap_or(0)
    }

    /// Buffer sizes; `None`: the kernel chooses.
    pub fn buffers(&self, name: &str) -> Vec<Option<u64>> {
        self.text(name).split(',').map(size).collect()
    }

    pub fn rate(&self, name: &str) -> u64 {
        rate(self.text(name)).unwrap_or(0)
    }

    pub fn number(&self, name: &str) -> u32 {
        number(self.text(name)).unwrap_or(0)
    }

    pub fn numbers(&self, name: &str) -> Vec<u32> {
        self.text(name).split(',').filter_map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[ParameterSpec] = &[
        ParameterSpec {
            name: "delay",
            meaning: "one way",
            kind: ParameterKind::Time,
            full: "65ms",
            quick: "5ms",
            source: "65ms",
        },
        ParameterSpec {
            name: "buffers",
            meaning: "sent from",
            kind: ParameterKind::Buffers,
            full: "32KiB,auto",
            quick: "auto",
            source: "",
        },
        ParameterSpec {
            name: "clients",
            meaning: "at a time",
            kind: ParameterKind::Numbers,
            full: "10,50",
            quick: "10",
            source: "10",
        },
    ];

    #[test]
    fn values_are_defaults_until_set_and_wrong_ones_are_taught() {
        let mut quick = Parameters::new(SPECS, true);
        assert_eq!(quick.time("delay"), Duration::from_millis(5));
        assert_eq!(Parameters::new(SPECS, false).buffers("buffers"), [Some(32_768), None]);
        quick.set("delay=20ms").unwrap();
        quick.set("clients=3,7").unwrap();
        assert_eq!(
            (quick.time("delay"), quick.numbers("clients")),
            (Duration::from_millis(20), vec![3, 7])
        );
        let reports = quick.to_report();
        assert!(reports[0].differs && !reports[1].differs && reports[0].here == "20ms");
        for (setting, says) in [
            ("delay", "expected NAME=VALUE, such as delay=65ms"),
            ("dely=5ms", "did you mean `delay`?"),
            ("colour=red", "it has delay, buffers, clients"),
            ("delay=5", "delay: found `5`, expected a time above 0"),
            ("delay=0s", "expected a time above 0"),
            ("buffers=1KiB", "expected sizes from 4KiB"),
            ("buffers=32KiB,", "expected sizes"),
            ("clients=0", "expected whole numbers from 1"),
        ] {
            let error = quick.set(setting).unwrap_err().to_string();
            assert!(error.contains(says), "{setting}: {error}");
        }
    }

    #[test]
    fn what_every_study_sets_is_of_its_kind() {
        for spec in SPECS {
            assert!(spec.kind.accepts(spec.full) && spec.kind.accepts(spec.quick), "{}", spec.name);
        }
    }
}
