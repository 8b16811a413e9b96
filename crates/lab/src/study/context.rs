//! What a study needs from its caller, why it can fail, and how partial measurements become a report.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

use super::balancer::BalancerError;
use super::report::StudyReport;
use crate::link_emulation::EmulatedLinkError;
use crate::load;
use crate::net::{BpfFsError, NamespaceError, SiteError, ToolError, VethError};
use crate::result_note::NoteSeverity;
use crate::stream::client::StreamRunError;

pub struct StudyContext<'a> {
    /// This program, which also runs as the balancer.
    pub program: &'a Path,
    /// When set, the study ends soon and reports what it has measured.
    pub stop: &'a AtomicBool,
    /// Receives a line about every step.
    pub log: &'a dyn Fn(&str),
    /// Receives each capture with its name. A capture that this function does not store is lost.
    pub captured: &'a dyn Fn(&str, &[u8]) -> io::Result<()>,
}

impl StudyContext<'_> {
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Why a study has no report.
#[derive(Debug, Error)]
pub enum StudyError {
    #[error("a network of namespaces")]
    Namespace(#[from] NamespaceError),
    #[error("a line")]
    Line(#[from] EmulatedLinkError),
    #[error("a network of namespaces")]
    Site(#[from] SiteError),
    #[error("a cable")]
    Cable(#[from] VethError),
    /// A bpf file system.
    #[error(transparent)]
    BpfFs(#[from] BpfFsError),
    /// A program that sets networks up.
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error(transparent)]
    Balancer(#[from] BalancerError),
    #[error("a server")]
    Origin(#[from] crate::origin::OriginStartError),
    #[error(transparent)]
    Load(#[from] load::LoadStartError),
    #[error(transparent)]
    Stream(#[from] StreamRunError),
    /// A socket or a file.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The measurements allow no result.
    #[error("{0}")]
    Nothing(String),
}

/// Builds the report of a study. `ended` is `Ok(true)` when everything was measured, `Ok(false)` when the study was
/// stopped, and otherwise the error that ended it. `count` is the number of `things` measured; a study that was
/// interrupted with none has no report.
///
/// # Errors
/// The study ended early and nothing was measured.
pub fn finish_study(
    ended: Result<bool, StudyError>,
    count: usize,
    things: &str,
    report: impl FnOnce() -> StudyReport,
) -> Result<StudyReport, StudyError> {
    let why = match ended {
        Ok(true) => return Ok(report()),
        Ok(false) if count == 0 => {
            return Err(StudyError::Nothing("stopped before anything was measured".to_owned()));
        }
        Err(error) if count == 0 => return Err(error),
        Ok(false) => "stopped".to_owned(),
        Err(error) => format!("broken off: {}", with_causes(&error)),
    };
    let mut report = report();
    report.note(NoteSeverity::Partial, format!("{why}; {things} measured until then: {count}"));
    Ok(report)
}

/// An error with its causes, without those that its own text already contains.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::parameter::Parameters;

    fn concluded(ended: Result<bool, StudyError>, count: usize) -> Result<StudyReport, StudyError> {
        let parameters = Parameters::new(&[], true);
        finish_study(ended, count, "cells", || {
            StudyReport::new("x", "asks", "a study", &parameters)
        })
    }

    fn broken() -> StudyError {
        let command = "ip".to_owned();
        let message = "no such device".to_owned();
        StudyError::Cable(VethError::from(ToolError::Failed { command, said: message }))
    }

    #[test]
    fn what_was_measured_becomes_a_report_whatever_ended_it() {
        let whole = concluded(Ok(true), 3).unwrap();
        assert!(whole.complete && whole.notes.is_empty());
        for (ended, says) in [
            (Ok(false), "stopped; cells measured until then: 3"),
            (
                Err(broken()),
                "broken off: a cable: a cable could not be laid: `ip` failed: no such device; cells",
            ),
        ] {
            let report = concluded(ended, 3).unwrap();
            let [note] = &report.notes[..] else { panic!("{:?}", report.notes) };
            assert!(!report.complete && note.weight == NoteSeverity::Partial);
            assert!(note.text.contains(says), "{}", note.text);
        }
        assert!(matches!(concluded(Err(broken()), 0), Err(StudyError::Cable(_))));
        assert!(matches!(concluded(Ok(false), 0), Err(StudyError::Nothing(_))));
    }
}
