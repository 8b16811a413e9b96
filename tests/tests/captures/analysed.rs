//! Analyses a capture file with the library, and returns the report as JSON.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trace::analysis::{Analysis, AnalysisSettings};
use trace::ingest::ingest_capture;
use trace::report_builder::{CaptureSource, build_report};

/// The report of a capture.
pub fn analysed(file: &Path) -> Value {
    let mut analysis = Analysis::new(AnalysisSettings::default());
    let mut source = CaptureSource::default();
    let name = file.display().to_string();
    ingest_capture(&mut analysis, &mut source, &name, File::open(file).unwrap(), |_| ()).unwrap();
    serde_json::to_value(build_report(analysis.finish(), source)).unwrap()
}

/// The captures of the recreated study.
pub fn study() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/trace/tests/captures");
    let names = ["slow_lb2", "slow_lb2_client", "slow_lb2_midstream", "fast_lb1"];
    names.map(|name| folder.join(format!("two_lb_{name}.pcap.gz"))).into()
}
