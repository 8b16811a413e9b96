//! Prints the findings of a capture as JSON: `cargo run -p trace --example verdict FILE`.

use std::fs::File;

use trace::analysis::{Analysis, Settings};
use trace::compose::{Source, report};
use trace::run::read;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut analysis, mut source) = (Analysis::new(Settings::default()), Source::default());
    for name in std::env::args().skip(1) {
        read(&mut analysis, &mut source, &name, File::open(&name)?, |_| ())?;
    }
    let out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    serde_json::to_writer(out, &report(analysis.finish(), source))?;
    Ok(())
}
