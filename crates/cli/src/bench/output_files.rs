//! Stores results: in the file and on the page that the options name, or, when a disk is full, wherever they still fit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use files::create::{append, replace, temporary_path, write};
use lab::bench::page::render_page;
use lab::machine::facts::MachineFacts;
use lab::machine::topology::read_topology;
use lab::result::{BenchResult, ResultProvenance};
use lab::result_note::NoteSeverity;

use crate::outcome::{CommandError, print_error};

/// Files that are wanted.
pub struct OutputFiles {
    result: Option<PathBuf>,
    page: Option<PathBuf>,
}

impl OutputFiles {
    /// Looks whether they can be written before anything is measured.
    pub fn prepare(
        result: Option<&Path>,
        page: Option<&Path>,
    ) -> Result<OutputFiles, CommandError> {
        [result, page].into_iter().flatten().try_for_each(check_writable)?;
        Ok(OutputFiles { result: result.map(Path::to_owned), page: page.map(Path::to_owned) })
    }

    /// Writes them; false: not everything could be, and the result must be shown in another way.
    pub fn write(&self, result: &mut BenchResult) -> bool {
        let mut whole = true;
        if let Some(path) = &self.page
            && let Err(error) = write_atomically(path, &render_page(result))
        {
            result.add_note(
                NoteSeverity::Partial,
                format!("the page {} could not be written: {error}", path.display()),
            );
        }
        if let Some(path) = &self.result {
            let text = serde_json::to_string(result).map_err(io::Error::other);
            if let Err(error) = text.and_then(|text| write_atomically(path, &format!("{text}\n"))) {
                let text = format!(
                    "the result could not be written to {}: {error}; it follows on standard output",
                    path.display()
                );
                print_error(&CommandError::Unusable(text.clone()));
                result.add_note(NoteSeverity::Partial, text);
                whole = false;
            }
        }
        whole
    }
}

/// Whether `write_atomically` can write there, as far as that is known before there is anything to write.
pub fn check_writable(path: &Path) -> Result<(), CommandError> {
    let new = temporary_path(path);
    let tried =
        if is_special_file(path) { [path].to_vec() } else { [path, new.as_path()].to_vec() };
    tried.into_iter().try_for_each(|path| {
        let there = path.exists();
        append(path, 0o644).map_err(|error| {
            CommandError::Unusable(format!("cannot write {}: {error}", path.display()))
        })?;
        if !there {
            // An empty file would look like a result. When it cannot be removed it is written over anyway.
            let _ = fs::remove_file(path);
        }
        Ok(())
    })
}

/// Whether the path is a device or a pipe.
fn is_special_file(path: &Path) -> bool {
    path.exists() && !path.is_file()
}

/// Writes a temporary file and renames it, so that an older file survives a full disk; devices and pipes are written
/// directly.
pub fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    if is_special_file(path) {
        return write(path, text, 0o644);
    }
    replace(path, text.as_bytes(), 0o644, |_| Ok(()))
}

/// Where figures of this process come from.
pub fn provenance(facts: &MachineFacts) -> ResultProvenance {
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    ResultProvenance {
        steelyard: env!("CARGO_PKG_VERSION").to_owned(),
        began_unix_ms: u64::try_from(began.as_millis()).unwrap_or(0),
        command: std::env::args().collect(),
        host: facts.host.clone(),
        kernel: facts.kernel.clone(),
        processors: format!("{} × {}", facts.processors, facts.processor),
        sysctls: facts.sysctls.clone(),
        topology: read_topology(),
        descriptors: facts.descriptors,
        ..ResultProvenance::default()
    }
}

/// FNV-1a of a text, 64 bits: tells files apart, but is no proof against manipulation.
pub fn fnv_digest(text: &str) -> String {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, fold))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_found_before_and_leaves_what_was_there() {
        let room = files::TemporaryDir::new("keep").unwrap();
        let dir = room.path();
        let file = dir.join("page.html");
        assert!(check_writable(&file).is_ok() && !file.exists() && !temporary_path(&file).exists());
        write_atomically(&file, "old").unwrap();
        assert!(check_writable(&file).is_ok() && write_atomically(&file, "new").is_ok());
        // Nothing can be written beside it.
        fs::create_dir(temporary_path(&file)).unwrap();
        assert!(check_writable(&file).is_err() && write_atomically(&file, "newer").is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(check_writable(&dir.join("none/page.html")).is_err());
        assert!(check_writable(Path::new("/dev/full")).is_ok());
    }

    #[test]
    fn digests_are_fnv() {
        assert_eq!(fnv_digest(""), "cbf29ce484222325");
        assert_eq!(fnv_digest("a"), "af63dc4c8601ec8c");
    }
}
