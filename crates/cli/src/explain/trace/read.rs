//! Opens capture files and passes them to the analysis, with progress on a terminal.
//!
//! The analysis interprets the files; here are only files and their errors.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use trace::analysis::{Analysis, AnalysisSettings};
use trace::ingest::ingest_capture;
use trace::render::page::{self, RenderedPage};
use trace::report::TraceReport;
use trace::report_builder::{self, CaptureSource};

use crate::outcome::{CommandError, sentence};

#[derive(Debug)]
pub struct TraceReader<'a> {
    /// The settings of the analysis.
    pub settings: &'a AnalysisSettings,
    pub quiet: bool,
}

/// Files shorter than this are read before anybody looks up, bytes.
const LONG: u64 = 200 << 20;

impl TraceReader<'_> {
    /// Reads files, one after the other, into one report.
    pub fn read_report(&self, files: &[PathBuf]) -> Result<TraceReport, CommandError> {
        let (analysis, source) = self.analyse(files, self.settings)?;
        let report = report_builder::build_report(analysis.finish(), source);
        if report.capture.is_unreadable() {
            let names = report.files.join(", ");
            let seen = report.capture.describe_unread();
            let seen = if seen.is_empty() { "nothing whole".to_owned() } else { seen };
            return Err(CommandError::Unusable(format!("no TCP can be read in {names}: {seen}")));
        }
        Ok(report)
    }

    /// Reads the files again for the packets of this connection, and of those that failed or waited longest.
    pub fn draw_connections(
        &self,
        files: &[PathBuf],
        number: u32,
        report: &TraceReport,
    ) -> Result<RenderedPage, CommandError> {
        let mut settings = self.settings.clone();
        settings.only = Some(number);
        settings.beside = page::further_connections(report, number);
        let (analysis, _) = self.analyse(files, &settings)?;
        let scenes = analysis.scenes();
        if scenes.first().is_none_or(|scene| scene.number != number) {
            let count = report.connections_total;
            return Err(CommandError::Absent(format!("no connection {number}; there are {count}")));
        }
        Ok(page::draw_connections(&scenes, report))
    }

    fn analyse(
        &self,
        files: &[PathBuf],
        settings: &AnalysisSettings,
    ) -> Result<(Analysis, CaptureSource), CommandError> {
        let mut analysis = Analysis::new(settings.clone());
        let mut source = CaptureSource::default();
        for path in files {
            let name = path.display().to_string();
            let unreadable = |error: &dyn std::error::Error| {
                CommandError::Unusable(format!("cannot read {name}: {}", sentence(error)))
            };
            let file = File::open(path).map_err(|error| unreadable(&error))?;
            let mut progress = ReadProgress::new(path, &file, self.quiet);
            let done = ingest_capture(&mut analysis, &mut source, &name, file, |bytes| {
                progress.update(bytes)
            });
            progress.end();
            done.map_err(|damage| unreadable(&damage))?;
        }
        Ok((analysis, source))
    }
}

/// The progress through a long file, on standard error.
struct ReadProgress {
    name: String,
    total: u64,
    reported: u64,
}

impl ReadProgress {
    fn new(path: &Path, file: &File, quiet: bool) -> ReadProgress {
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let packed = path.extension().is_some_and(|extension| extension == "gz");
        let shown = !quiet && length > LONG && std::io::stderr().is_terminal();
        let whole = if !shown {
            0
        } else if packed {
            u64::MAX
        } else {
            length
        };
        ReadProgress { name: path.display().to_string(), total: whole, reported: 0 }
    }

    fn update(&mut self, bytes: u64) {
        if self.total == 0 || bytes - self.reported < LONG / 8 {
            return;
        }
        self.reported = bytes;
        let far = if self.total == u64::MAX {
            format!("{} MiB", bytes >> 20)
        } else {
            format!("{} %", bytes.saturating_mul(100) / self.total)
        };
        // Progress that cannot be shown stops nothing.
        let _ = write!(std::io::stderr(), "\r{}: {far} ", self.name);
    }

    fn end(&self) {
        if self.reported > 0 {
            // Progress that cannot be cleared stops nothing.
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
