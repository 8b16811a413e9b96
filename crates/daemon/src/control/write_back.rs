//! Where a change at run time is saved, so that the next start has it: in the file, in an overlay beside it, or
//! nowhere.
//!
//! It activates nothing; the audit log is written by `audit_record`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use model::config::{CheckedConfig, WriteBack};

use super::actor::ControlActor;
use super::config_file::FILE_BYTES;
use crate::control::config_overlay::ConfigOverlay;
use crate::state::change::{ApplyError, ConfigChange};
use crate::state::origin::ChangeTrigger;
use crate::util::atomic_file;

/// Where a change is saved.
#[derive(Debug)]
pub(super) enum SaveTarget {
    Nowhere,
    /// Into the file, unless the file holds it already.
    File {
        file: PathBuf,
        says_so: bool,
    },
    Overlay,
}

impl ControlActor {
    /// Where a change will be saved.
    ///
    /// # Errors
    /// The file would be written, but its content is neither the active text nor the new one.
    pub(super) fn save_target(
        &self,
        change: &ConfigChange,
        checked: &CheckedConfig,
    ) -> Result<SaveTarget, ApplyError> {
        if !matches!(change.origin.way, ChangeTrigger::Api | ChangeTrigger::Rollback) {
            return Ok(SaveTarget::Nowhere);
        }
        let mode = checked.config.global.control.write_back;
        let (true, Some(path)) =
            (change.save.unwrap_or(mode != WriteBack::Off), &self.config_file.file)
        else {
            return match (change.save, &self.config_file.file) {
                (Some(true), None) => Err(ApplyError::NoFile),
                _ => Ok(SaveTarget::Nowhere),
            };
        };
        if mode == WriteBack::Overlay && change.save.is_none() {
            return Ok(SaveTarget::Overlay);
        }
        let shown = path.display().to_string();
        let failed = |source: io::Error| ApplyError::FileUnreadable { file: shown.clone(), source };
        // A link stays a link.
        let file = path.canonicalize().map_err(failed)?;
        let written = atomic_file::read(&file, FILE_BYTES).map_err(failed)?.unwrap_or_default();
        let says_so = written == change.text;
        if !says_so && written != *self.active.text {
            return Err(ApplyError::FileDiffers(shown));
        }
        Ok(SaveTarget::File { file, says_so })
    }

    /// Where the undoing of an unsaved order is saved: in the overlay, if overlays are configured.
    pub(super) fn overlay_target(&self) -> SaveTarget {
        match self.active.config.global.control.write_back {
            WriteBack::Overlay if self.config_file.file.is_some() => SaveTarget::Overlay,
            _ => SaveTarget::Nowhere,
        }
    }

    /// Saves the active text there; returns the file that holds it now.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn save_to(&mut self, room: SaveTarget) -> Result<Option<String>, ApplyError> {
        let saved = match room {
            SaveTarget::Nowhere => None,
            SaveTarget::Overlay => {
                self.write_overlay();
                None
            }
            SaveTarget::File { file, says_so } => {
                let shown = file.display().to_string();
                if !says_so {
                    atomic_file::replace_keeping_owner(&file, self.active.text.as_bytes())
                        .map_err(|source| ApplyError::FileNotWritten {
                            file: shown.clone(),
                            source,
                        })?;
                }
                self.config_file.set_base(&self.active.text);
                Some(shown)
            }
        };
        self.refresh_file_drift();
        Ok(saved)
    }

    /// Notes that a text of the file is active, alone or under an overlay. The stored overlay belongs to that text from
    /// now on.
    pub(super) fn adopt_file_text(&mut self, base: Option<Arc<str>>) {
        if base.is_some() {
            self.config_file.base = base;
            match self.active.config.global.control.write_back {
                WriteBack::Overlay => self.write_overlay(),
                WriteBack::Off | WriteBack::File => self.remove_overlay(),
            }
        }
        self.refresh_file_drift();
    }

    /// Checks whether the file holds the active text.
    pub(super) fn refresh_file_drift(&mut self) -> bool {
        let mode = self.active.config.global.control.write_back;
        let text = Arc::clone(&self.active.text);
        self.config_file.refresh_drift(&text, mode)
    }

    fn write_overlay(&mut self) {
        let text = Arc::clone(&self.active.text);
        let origin = self.active.origin.clone();
        match self.config_file.write_overlay(&text, &origin) {
            Ok(()) => self.config_file.report_success(),
            Err(error) => self.config_file.report_failure(&self.events, &error),
        }
    }

    fn remove_overlay(&mut self) {
        let Some(state) = self.config_file.state.clone() else { return };
        match ConfigOverlay::remove(&state) {
            Ok(true) => {
                let text = "control.write-back is not overlay any more: what was changed over the file is gone";
                self.events.warn("overlay-ended", text);
            }
            Ok(false) => {}
            Err(error) => self.config_file.report_failure(&self.events, &error),
        }
    }
}
