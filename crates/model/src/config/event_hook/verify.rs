//! Verifies hooks: absolute paths and unique names.

use std::collections::HashSet;

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

/// Requires absolute paths and unique names.
pub fn verify_hooks(global: &ConfigSection, sink: &mut FindingCollector<'_, '_>) {
    let mut names = HashSet::new();
    for (at, hook) in global.list("hook").iter().enumerate() {
        let path = format!("global.hook[{at}]");
        if let Some(run) = hook.text("run").filter(|run| !run.starts_with('/')) {
            let trouble = FindingDetails::new(format!("`{run}` is not a whole path"))
                .with_expected("a path from the root: no shell and no PATH looks for it");
            sink.error(hook.span_of("run"), &format!("{path}.run"), trouble);
        }
        if let Some(name) = hook.text("name").filter(|name| !names.insert((*name).to_owned())) {
            let trouble = FindingDetails::new(format!("two hooks are named `{name}`"));
            sink.error(hook.span_of("name"), &format!("{path}.name"), trouble);
        }
    }
}
