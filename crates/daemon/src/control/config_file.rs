//! The daemon's file and the overlay beside it: what is known of both, and in what the file differs from the active
//! configuration.
//!
//! When something is saved, and where, is decided in `write_back`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use api::types::Drift;
use model::config::WriteBack;
use model::config::text_difference::{ReducedTexts, reduce_to_differences};
use model::config::toml_tree::{diff_trees, parse_tree};

use crate::control::config_overlay::ConfigOverlay;
use crate::state::origin::ChangeOrigin;
use crate::util::atomic_file;
use crate::util::event::EventLog;
use crate::util::file_stamps::{FileStamps, file_stamps};

/// Bytes of a file that changes are written back to.
pub(super) const FILE_BYTES: u64 = 16 << 20;
/// Places that are named where the file differs.
const NAMED: usize = 64;

/// The state of the configuration file and of the overlay beside it.
#[derive(Debug, Default)]
pub(super) struct ConfigFileState {
    /// The file that orders are written back to; `None`: there is none.
    pub file: Option<PathBuf>,
    pub state: Option<PathBuf>,
    /// The file's text that is active, itself or under an overlay; `None`: unknown.
    pub base: Option<Arc<str>>,
    last_check: Option<DriftCheck>,
    drift: Option<Arc<Drift>>,
    failures: u64,
    last_error: String,
}

/// What a comparison of the file with the active configuration was made of.
#[derive(Debug)]
struct DriftCheck {
    file: FileStamps,
    active_text: Arc<str>,
}

impl ConfigFileState {
    pub fn new(
        file: Option<PathBuf>,
        state: Option<PathBuf>,
        base: Option<Arc<str>>,
    ) -> ConfigFileState {
        ConfigFileState { file, state, base, ..ConfigFileState::default() }
    }

    /// Differences between the file and the active configuration.
    pub fn drift(&self) -> Option<Arc<Drift>> {
        self.drift.clone()
    }

    /// Failed attempts to store something.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Why the last one did.
    pub fn last_error(&self) -> &str {
        &self.last_error
    }

    /// Notes that the file holds the active text.
    pub fn set_base(&mut self, text: &Arc<str>) {
        self.base = Some(Arc::clone(text));
    }

    /// Repeats the comparison if the file or the active text has changed since the last check. Returns whether the
    /// result changed.
    pub fn refresh_drift(&mut self, force: &Arc<str>, mode: WriteBack) -> bool {
        let Some(file) = self.file.clone() else { return false };
        let now = file_stamps(std::slice::from_ref(&file));
        let same = |last: &DriftCheck| last.file == now && Arc::ptr_eq(&last.active_text, force);
        if self.last_check.as_ref().is_some_and(same) {
            return false;
        }
        self.last_check = Some(DriftCheck { file: now, active_text: Arc::clone(force) });
        let drift = find_drift(&file, force, self.base.as_deref(), mode).map(Arc::new);
        let news = drift != self.drift;
        self.drift = drift;
        news
    }

    /// Stores the active text beside the file; removes it if the file holds the same text.
    pub fn write_overlay(&mut self, force: &str, origin: &ChangeOrigin) -> io::Result<()> {
        let Some(state) = self.state.clone() else { return Ok(()) };
        let base = match &self.base {
            Some(base) => base.to_string(),
            None => self.read()?.unwrap_or_default(),
        };
        if base == force {
            return ConfigOverlay::remove(&state).map(drop);
        }
        ConfigOverlay::new(&base, force, origin).write(&state)
    }

    fn read(&self) -> io::Result<Option<String>> {
        self.file.as_ref().map_or(Ok(None), |file| atomic_file::read(file, FILE_BYTES))
    }

    pub fn report_success(&mut self) {
        self.last_error.clear();
    }

    pub fn report_failure(&mut self, events: &EventLog, error: &io::Error) {
        self.failures += 1;
        self.last_error = error.to_string();
        let text = format!(
            "what was changed over the file cannot be kept: {error}; it is lost at the next start"
        );
        events.warn("overlay-not-saved", text);
    }
}

/// Differences of the file; `None`: there are none.
fn find_drift(file: &Path, force: &str, base: Option<&str>, mode: WriteBack) -> Option<Drift> {
    let shown = file.display().to_string();
    let none = Drift { file: shown, ..Drift::default() };
    let text = match atomic_file::read(file, FILE_BYTES) {
        Ok(Some(text)) => text,
        Ok(None) => return Some(Drift { problem: Some("it is not there".to_owned()), ..none }),
        Err(error) => return Some(Drift { problem: Some(error.to_string()), ..none }),
    };
    if text == force {
        return None;
    }
    let edited = base.is_some_and(|base| base != text);
    let saved = mode == WriteBack::Overlay && !edited;
    let ReducedTexts { old, new } = reduce_to_differences(&text, force);
    let (theirs, ours) = match (parse_tree(&old), parse_tree(&new)) {
        (Ok(theirs), Ok(ours)) => (theirs, ours),
        (Err(why), _) => return Some(Drift { edited, problem: Some(why), ..none }),
        // The active text was parsed before, so this cannot fail.
        (_, Err(_)) => return None,
    };
    let mut keys: Vec<String> =
        diff_trees(&theirs, &ours).into_iter().map(|difference| difference.path).collect();
    if keys.is_empty() {
        // Comments and form alone.
        return None;
    }
    let unlisted = u64::try_from(keys.len().saturating_sub(NAMED)).unwrap_or(u64::MAX);
    keys.truncate(NAMED);
    Some(Drift { keys, unlisted, edited, saved, ..none })
}
