//! Verifies limits of request heads that services and `[global]` have in common.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

pub fn verify_target_limit(limit: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let sizes = limit.count::<u64>("target-bytes").zip(limit.count::<u64>("header-bytes"));
    if let Some((target, header)) = sizes {
        // An inherited pair is verified where it is written.
        if target > header && (limit.is_written("target-bytes") || limit.is_written("header-bytes"))
        {
            let key =
                if limit.is_written("target-bytes") { "target-bytes" } else { "header-bytes" };
            let message =
                format!("a target of {target} bytes does not fit into a head of {header}");
            sink.error(limit.span_of(key), &format!("{path}.{key}"), FindingDetails::new(message));
        }
    }
}
