//! Analyses a file with the library, and reads what came out as JSON.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trace::analysis::{Analysis, Settings};
use trace::compose::{Source, report};
use trace::run::read;

/// The report of a capture.
pub fn analysed(file: &Path) -> Value {
    let (mut analysis, mut source) = (Analysis::new(Settings::default()), Source::default());
    let name = file.display().to_string();
    read(&mut analysis, &mut source, &name, File::open(file).unwrap(), |_| ()).unwrap();
    serde_json::to_value(report(analysis.finish(), source)).unwrap()
}

/// The captures of the recreated study.
pub fn study() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/trace/tests/captures");
    let names = ["slow_lb2", "slow_lb2_client", "slow_lb2_midstream", "fast_lb1"];
    names.map(|name| folder.join(format!("two_lb_{name}.pcap.gz"))).into()
}
