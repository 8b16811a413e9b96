//! The page of public names that were called otherwise before: keys and metrics.

use std::fmt::Write;

use crate::config::renamed_keys::renamed_keys;
use crate::renamed_metrics::RENAMED_METRICS;

/// The page, in Markdown.
pub fn render_renamed_names() -> String {
    let mut text = KEYS.to_owned();
    // Writing to a string cannot fail.
    for key in renamed_keys() {
        for former in key.former_names {
            let _ = writeln!(text, "| `{}` | `{former}` | `{}` |", key.path, key.name);
        }
    }
    text.push_str(METRICS);
    for metric in RENAMED_METRICS {
        let label = metric.label.map_or(String::new(), |label| {
            format!("`{}` is `{}` now", label.former_name, label.name)
        });
        let _ = writeln!(text, "| `{}` | `{}` | {label} |", metric.former_name, metric.name);
    }
    text
}

const KEYS: &str = "\
# Renamed keys and metrics

Written from the schema and the list of metrics; a test keeps it fresh (`UPDATE_EXPECT=1 cargo test -p model`).

## Keys

A file with an earlier name is read, and `steelyard check` warns with the new one. The next minor version reads the new
name alone. A table with both names is refused. A patch that sets such a key writes it under the new name.

| table | earlier name | name |
|---|---|---|
";

const METRICS: &str = "
## Metrics

A scrape has a renamed metric under both names, with the same values. The help of the earlier name points to the new one.
The next minor version has the new name alone. `_total`, `_bucket`, `_sum` and `_count` are left away here.

| earlier name | name | labels |
|---|---|---|
";
