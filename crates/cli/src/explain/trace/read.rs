//! Opens capture files and hands them to the analysis, telling on a terminal how far it is.
//!
//! What a file means is the analysis' business; here are only files and their errors.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use trace::analysis::{Analysis, Settings};
use trace::compose::{self, Source};
use trace::render::page;
use trace::report::Report;
use trace::run::read;

use crate::end::{Failure, sentence};

/// How to read.
#[derive(Debug)]
pub struct Reading<'a> {
    /// What is asked of the analysis.
    pub settings: &'a Settings,
    /// No progress.
    pub quiet: bool,
}

/// What is drawn of a connection.
#[derive(Debug)]
pub struct Picture {
    /// The page.
    pub page: String,
    /// Drawings with their names.
    pub drawings: Vec<(&'static str, String)>,
}

/// Files shorter than this are read before anybody looks up, bytes.
const LONG: u64 = 200 << 20;

impl Reading<'_> {
    /// Reads files, one after the other, into one report.
    pub fn report(&self, files: &[PathBuf]) -> Result<Report, Failure> {
        let (analysis, source) = self.analyse(files, self.settings)?;
        Ok(compose::report(analysis.finish(), source))
    }

    /// Reads them again for the packets of one connection.
    pub fn picture(
        &self,
        files: &[PathBuf],
        number: u32,
        report: &Report,
    ) -> Result<Picture, Failure> {
        let mut settings = self.settings.clone();
        settings.only = Some(number);
        let (analysis, _) = self.analyse(files, &settings)?;
        let scene = analysis.scene(number).ok_or_else(|| {
            let told = report.connections_total;
            Failure::Absent(format!("no connection {number}; there are {told}"))
        })?;
        let picture = page::draw(&scene, report);
        Ok(Picture { page: picture.page, drawings: picture.drawings })
    }

    fn analyse(
        &self,
        files: &[PathBuf],
        settings: &Settings,
    ) -> Result<(Analysis, Source), Failure> {
        let mut analysis = Analysis::new(settings.clone());
        let mut source = Source::default();
        for path in files {
            let name = path.display().to_string();
            let unreadable = |error: &dyn std::error::Error| {
                Failure::Unusable(format!("cannot read {name}: {}", sentence(error)))
            };
            let file = File::open(path).map_err(|error| unreadable(&error))?;
            let mut progress = Progress::new(path, &file, self.quiet);
            let done = read(&mut analysis, &mut source, &name, file, |bytes| progress.tell(bytes));
            progress.end();
            done.map_err(|damage| unreadable(&damage))?;
        }
        Ok((analysis, source))
    }
}

/// A line on standard error that says how far a long file is.
struct Progress {
    name: String,
    whole: u64,
    told: u64,
}

impl Progress {
    fn new(path: &Path, file: &File, quiet: bool) -> Progress {
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
        Progress { name: path.display().to_string(), whole, told: 0 }
    }

    fn tell(&mut self, bytes: u64) {
        if self.whole == 0 || bytes - self.told < LONG / 8 {
            return;
        }
        self.told = bytes;
        let far = if self.whole == u64::MAX {
            format!("{} MiB", bytes >> 20)
        } else {
            format!("{} %", bytes.saturating_mul(100) / self.whole)
        };
        // Progress that cannot be shown stops nothing.
        let _ = write!(std::io::stderr(), "\r{}: {far} ", self.name);
    }

    fn end(&self) {
        if self.told > 0 {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
