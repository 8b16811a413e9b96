//! The renamed metrics and labels of a scrape also under their earlier names, for boards and alerts that still have those.

use std::fmt::Write;

use model::renamed_labels::{MetricLabel, RENAMED_LABELS};
use model::renamed_metrics::{RENAMED_METRICS, RenamedMetric};

/// Adds to an OpenMetrics text each renamed metric under its earlier name, right behind it, and to rows with a renamed label
/// that label under its earlier name. The help of an earlier metric names the new one.
pub(super) fn add_earlier_names(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    for block in blocks(text) {
        match renamed_label(block) {
            Some(label) => write_both_labels(block, label, &mut out),
            None => out.push_str(block),
        }
        if let Some(renamed) = renamed_metric(block) {
            write_block(block, renamed, &mut out);
        }
    }
    out
}

/// The lines of each metric, which begin with its help.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = ["\n# HELP ", "\n# EOF"].iter().filter_map(|next| rest.find(next)).min();
        let (block, behind) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
        rest = behind;
        Some(block)
    })
}

fn metric_name(block: &str) -> Option<&str> {
    block.strip_prefix("# HELP ")?.split(' ').next()
}

fn renamed_metric(block: &str) -> Option<&'static RenamedMetric> {
    let name = metric_name(block)?;
    RENAMED_METRICS.iter().find(|metric| metric.name == name)
}

fn renamed_label(block: &str) -> Option<&'static MetricLabel> {
    let name = metric_name(block)?;
    RENAMED_LABELS.iter().find(|label| label.metric == name)
}

fn write_both_labels(block: &str, label: &MetricLabel, out: &mut String) {
    for line in block.lines() {
        let _ = match label_value(line, label.name).filter(|_| !line.starts_with('#')) {
            Some(value) => {
                let behind = value.end + 1;
                let LabelValue { text, .. } = value;
                let former = label.former_name;
                writeln!(out, "{},{former}=\"{text}\"{}", &line[..behind], &line[behind..])
            }
            None => writeln!(out, "{line}"),
        };
    }
}

/// The value of a label in a row, and where its closing quote stands.
struct LabelValue<'l> {
    text: &'l str,
    end: usize,
}

fn label_value<'l>(line: &'l str, name: &str) -> Option<LabelValue<'l>> {
    let begin = ["{", ","].iter().find_map(|before| {
        let label = format!("{before}{name}=\"");
        line.find(&label).map(|at| at + label.len())
    })?;
    let mut is_escaped = false;
    for (at, character) in line[begin..].char_indices() {
        match character {
            '"' if !is_escaped => {
                let end = begin + at;
                return Some(LabelValue { text: &line[begin..end], end });
            }
            _ => is_escaped = character == '\\' && !is_escaped,
        }
    }
    None
}

fn write_block(block: &str, metric: &RenamedMetric, out: &mut String) {
    for line in block.lines() {
        let comment =
            ["# HELP ", "# TYPE ", "# UNIT "].iter().find(|word| line.starts_with(**word));
        // Writing to a string cannot fail.
        let _ = match comment {
            Some(&"# HELP ") => {
                writeln!(out, "# HELP {} Earlier name of {}.", metric.former_name, metric.name)
            }
            _ => {
                let word = comment.copied().unwrap_or_default();
                let rest = line.strip_prefix(word).and_then(|it| it.strip_prefix(metric.name));
                let rest = rest.unwrap_or_default();
                writeln!(out, "{word}{}{}", metric.former_name, with_earlier_label(rest, metric))
            }
        };
    }
}

/// A row's labels and value with the earlier name of its renamed label. Quotes in labels' values are escaped, so
/// that only a label's name has `="` behind it.
fn with_earlier_label(rest: &str, metric: &RenamedMetric) -> String {
    let Some(label) = metric.label else { return rest.to_owned() };
    let mut rest = rest.to_owned();
    for before in ["{", ","] {
        let now = format!("{before}{}=\"", label.name);
        rest = rest.replace(&now, &format!("{before}{}=\"", label.former_name));
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# HELP steelyard_other Something else.
# TYPE steelyard_other gauge
steelyard_other 1
# HELP steelyard_slo_operations Operations by outcome.
# TYPE steelyard_slo_operations counter
steelyard_slo_operations_total{service=\"a,outcome=\\\"b\",outcome=\"fast\"} 90
# HELP steelyard_flow_samples_stalled_seconds Time.
# TYPE steelyard_flow_samples_stalled_seconds counter
# UNIT steelyard_flow_samples_stalled_seconds seconds
# EOF
";

    #[test]
    fn a_renamed_metric_stands_again_under_its_earlier_name() {
        let expected = "\
# HELP steelyard_other Something else.
# TYPE steelyard_other gauge
steelyard_other 1
# HELP steelyard_slo_operations Operations by outcome.
# TYPE steelyard_slo_operations counter
steelyard_slo_operations_total{service=\"a,outcome=\\\"b\",outcome=\"fast\"} 90
# HELP steelyard_users_operations Earlier name of steelyard_slo_operations.
# TYPE steelyard_users_operations counter
steelyard_users_operations_total{service=\"a,outcome=\\\"b\",end=\"fast\"} 90
# HELP steelyard_flow_samples_stalled_seconds Time.
# TYPE steelyard_flow_samples_stalled_seconds counter
# UNIT steelyard_flow_samples_stalled_seconds seconds
# HELP steelyard_packet_insight_time_seconds Earlier name of steelyard_flow_samples_stalled_seconds.
# TYPE steelyard_packet_insight_time_seconds counter
# UNIT steelyard_packet_insight_time_seconds seconds
# EOF
";
        assert_eq!(add_earlier_names(TEXT), expected);
    }

    #[test]
    fn a_renamed_label_stands_under_both_names_in_each_row() {
        let text = "\
# HELP steelyard_events Events by name, kind=\"x\".
# TYPE steelyard_events counter
steelyard_events_total{kind=\"server-down\"} 3
steelyard_events_total{a=\"b,kind=\\\"c\",kind=\"q\\\\\",d=\"e\"} 4
# HELP steelyard_other Something else.
# TYPE steelyard_other gauge
steelyard_other{kind=\"x\"} 1
# EOF
";
        let expected = text
            .replace("kind=\"server-down\"", "kind=\"server-down\",what=\"server-down\"")
            .replace("kind=\"q\\\\\"", "kind=\"q\\\\\",what=\"q\\\\\"");
        assert_eq!(add_earlier_names(text), expected);
    }

    #[test]
    fn no_metric_has_a_renamed_label_twice() {
        for label in &RENAMED_LABELS {
            let same = RENAMED_LABELS.iter().filter(|it| it.metric == label.metric).count();
            assert_eq!(same, 1, "{}", label.metric);
        }
    }

    #[test]
    fn a_text_without_renamed_metrics_stays_as_it_is() {
        for text in ["", "# EOF\n", "# HELP a b.\n# TYPE a gauge\na 1\n# EOF\n"] {
            assert_eq!(add_earlier_names(text), text);
        }
    }

    #[test]
    fn no_earlier_name_is_a_name_too() {
        for metric in &RENAMED_METRICS {
            let name = metric.former_name;
            assert!(RENAMED_METRICS.iter().all(|other| other.name != name), "{name}");
            assert_eq!(RENAMED_METRICS.iter().filter(|it| it.former_name == name).count(), 1);
        }
    }
}
