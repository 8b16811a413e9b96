//! Prints the findings of a capture as JSON: `cargo run -p trace --example verdict FILE`.

use std::fs::File;

use trace::analysis::{Analysis, AnalysisSettings};
use trace::ingest::ingest_capture;
use trace::report_builder::{CaptureSource, build_report};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut analysis = Analysis::new(AnalysisSettings::default());
    let mut source = CaptureSource::default();
    for name in std::env::args().skip(1) {
        ingest_capture(&mut analysis, &mut source, &name, File::open(&name)?, |_| ())?;
    }
    let out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    serde_json::to_writer(out, &build_report(analysis.finish(), source))?;
    Ok(())
}
