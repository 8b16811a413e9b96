//! Where a change that was made while running is kept, so that the next start has it: in the file, in an overlay beside
//! it, or nowhere.
//!
//! It puts nothing in force; who ordered what is `record`'s.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use model::config::{WriteBack, load};

use super::actor::Actor;
use super::keeping::FILE_BYTES;
use super::order::{ApplyError, Change};
use super::origin::Way;
use crate::cover::Cover;
use crate::keep;

/// Where a change goes.
#[derive(Debug)]
pub(super) enum Room {
    /// Nowhere.
    None,
    /// Into the file, unless it says so already.
    File { file: PathBuf, says_so: bool },
    /// Beside it.
    Overlay,
}

impl Actor {
    /// Where a change will be kept.
    ///
    /// # Errors
    /// The file is to be written and says something that is neither in force nor to be.
    pub(super) fn room(&self, change: &Change) -> Result<Room, ApplyError> {
        if !matches!(change.origin.way, Way::Api | Way::Rollback) {
            return Ok(Room::None);
        }
        // Mistakes are found when it is put in force.
        let Ok(checked) = load(&change.text, &change.file) else { return Ok(Room::None) };
        let mode = checked.config.global.control.write_back;
        let (true, Some(path)) =
            (change.save.unwrap_or(mode != WriteBack::Off), &self.keeping.file)
        else {
            return match (change.save, &self.keeping.file) {
                (Some(true), None) => Err(ApplyError::NoFile),
                _ => Ok(Room::None),
            };
        };
        if mode == WriteBack::Overlay && change.save.is_none() {
            return Ok(Room::Overlay);
        }
        let shown = path.display().to_string();
        let failed = |source: io::Error| ApplyError::Unread { file: shown.clone(), source };
        // A link stays a link.
        let file = path.canonicalize().map_err(failed)?;
        let found = keep::read(&file, FILE_BYTES).map_err(failed)?.unwrap_or_default();
        let says_so = found == change.text;
        if !says_so && found != *self.force.text {
            return Err(ApplyError::Differs(shown));
        }
        Ok(Room::File { file, says_so })
    }

    /// Where an undoing is kept whose order was not saved: beside the file, where that is usual.
    pub(super) fn room_beside(&self) -> Room {
        match self.force.config.global.control.write_back {
            WriteBack::Overlay if self.keeping.file.is_some() => Room::Overlay,
            _ => Room::None,
        }
    }

    /// Keeps what is in force there; the file that has it now.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn keep_in(&mut self, room: Room) -> Result<Option<String>, ApplyError> {
        let saved = match room {
            Room::None => None,
            Room::Overlay => {
                self.cover_file();
                None
            }
            Room::File { file, says_so } => {
                let shown = file.display().to_string();
                if !says_so {
                    keep::replace_like(&file, self.force.text.as_bytes())
                        .map_err(|source| ApplyError::Unwritten { file: shown.clone(), source })?;
                }
                self.keeping.written(&self.force.text);
                Some(shown)
            }
        };
        self.look_at_file();
        Ok(saved)
    }

    /// A text of the file is in force, alone or covered: what is kept beside it is for that text from now on.
    pub(super) fn taken_from_file(&mut self, base: Option<Arc<str>>) {
        if base.is_some() {
            self.keeping.base = base;
            match self.force.config.global.control.write_back {
                WriteBack::Overlay => self.cover_file(),
                WriteBack::Off | WriteBack::File => self.uncover_file(),
            }
        }
        self.look_at_file();
    }

    /// Looks whether the file says what is in force.
    pub(super) fn look_at_file(&mut self) -> bool {
        let mode = self.force.config.global.control.write_back;
        let text = Arc::clone(&self.force.text);
        self.keeping.look(&text, mode)
    }

    fn cover_file(&mut self) {
        let (text, origin) = (Arc::clone(&self.force.text), self.force.origin.clone());
        if let Err(error) = self.keeping.cover(&text, &origin) {
            self.keeping.trouble(&self.events, &error);
        }
    }

    fn uncover_file(&mut self) {
        let Some(state) = self.keeping.state.clone() else { return };
        match Cover::remove(&state) {
            Ok(true) => {
                let text = "control.write-back is not overlay any more: what was changed over the file is gone";
                self.events.warn("overlay-ended", text);
            }
            Ok(false) => {}
            Err(error) => self.keeping.trouble(&self.events, &error),
        }
    }
}
