//! The renamed metrics of a scrape again under their earlier names, for boards and alerts that still have those.

use std::fmt::Write;

use model::renamed_metrics::{RENAMED_METRICS, RenamedMetric};

/// Adds to an OpenMetrics text each renamed metric under its earlier name, right behind it. Its help names the new one.
pub(super) fn add_earlier_names(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    for block in blocks(text) {
        out.push_str(block);
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

fn renamed_metric(block: &str) -> Option<&'static RenamedMetric> {
    let name = block.strip_prefix("# HELP ")?.split(' ').next()?;
    RENAMED_METRICS.iter().find(|metric| metric.name == name)
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
