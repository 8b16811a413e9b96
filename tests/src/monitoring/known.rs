//! Metrics in a scrape, in the page's tables, and in the daemon's source.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{SourceFile, SourceTree};

/// The folder of the daemon's metrics.
const SOURCE: &str = "crates/daemon/src/observability/metrics";
/// Units that are suffixes of metric names.
const UNITS: [&str; 3] = ["bytes", "seconds", "ratios"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownMetric {
    /// `counter`, `gauge`, `histogram` or `info`.
    pub kind: String,
    /// The unit; empty for a number of things.
    pub unit: String,
    /// Labels, without a histogram's `le`. The values come from a scrape; a page lists none.
    pub labels: BTreeMap<String, BTreeSet<String>>,
    /// Whether the metric has a row.
    pub has_row: bool,
}

/// Metrics by the name that a query uses. A counter ends in `_total`; a histogram has no suffix here.
pub type KnownMetrics = BTreeMap<String, KnownMetric>;

/// The metric of a row's name.
pub fn find_family<'m>(all: &'m KnownMetrics, name: &str) -> Option<&'m KnownMetric> {
    let mut ends = ["_bucket", "_sum", "_count"].into_iter();
    let of_histogram =
        |end: &str| all.get(name.strip_suffix(end)?).filter(|metric| metric.kind == "histogram");
    let plain = all.get(name).filter(|metric| metric.kind != "histogram");
    plain.or_else(|| ends.find_map(of_histogram))
}

/// The metrics of a scrape.
pub fn parse_scrape(text: &str) -> KnownMetrics {
    let mut out = KnownMetrics::new();
    let mut current = String::new();
    let mut suffix = "";
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "TYPE", name, kind] => {
                suffix = match kind {
                    "counter" => "_total",
                    "info" => "_info",
                    _ => "",
                };
                current = format!("{name}{suffix}");
                let metric = KnownMetric { kind: kind.to_owned(), ..KnownMetric::default() };
                assert!(out.insert(current.clone(), metric).is_none(), "{name} twice");
            }
            ["#", "UNIT", name, unit] => {
                assert_eq!(format!("{name}{suffix}"), current);
                unit.clone_into(&mut out.get_mut(&current).unwrap().unit);
            }
            ["#", ..] => {}
            _ => {
                let metric = out.get_mut(&current).unwrap();
                assert!(line.starts_with(&current), "{line} is not of {current}");
                metric.has_row = true;
                let all = line.split_once('{').and_then(|(_, rest)| rest.rsplit_once("} "));
                for pair in all.map_or("", |(labels, _)| labels).split("\",") {
                    let Some((label, value)) = pair.split_once("=\"").filter(|(l, _)| *l != "le")
                    else {
                        continue;
                    };
                    let values = metric.labels.entry(label.to_owned()).or_default();
                    values.insert(value.trim_end_matches('"').to_owned());
                }
            }
        }
    }
    out
}

/// The metrics in the tables of a page: name, type, unit, labels, rows, meaning.
pub fn parse_page(page: &str) -> KnownMetrics {
    let mut out = KnownMetrics::new();
    for line in page.lines().filter(|line| line.starts_with("| `steelyard_")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, kind, unit, labels, rows, meaning] = cells[..] else {
            panic!("six cells: {line}")
        };
        assert!(!rows.is_empty() && meaning.ends_with('.'), "{line}");
        let labels = labels.split(", ").filter(|label| !label.is_empty());
        let metric = KnownMetric {
            kind: kind.to_owned(),
            unit: unit.to_owned(),
            labels: labels
                .map(|label| (label.trim_matches('`').to_owned(), BTreeSet::new()))
                .collect(),
            has_row: false,
        };
        let name = name.trim_matches('`').to_owned();
        assert!(out.insert(name, metric).is_none(), "twice: {line}");
    }
    out
}

/// The name without the suffixes that the format adds.
pub fn stem<'n>(name: &'n str, metric: &KnownMetric) -> &'n str {
    let name = name.strip_suffix("_total").or_else(|| name.strip_suffix("_info")).unwrap_or(name);
    let unit = UNITS.iter().find(|unit| **unit == metric.unit);
    unit.and_then(|unit| name.strip_suffix(*unit)?.strip_suffix('_')).unwrap_or(name)
}

/// Names that occur in full in the source, with the file of each.
pub fn metric_names_in_source(tree: &SourceTree) -> BTreeMap<&str, &SourceFile> {
    let mut out = BTreeMap::new();
    for file in
        tree.files.iter().filter(|file| file.path.starts_with(SOURCE) && !file.is_unit_tests())
    {
        for part in file.text.split('"').filter(|part| part.starts_with("steelyard_")) {
            if part.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit()) {
                out.insert(part, file);
            }
        }
    }
    out
}
