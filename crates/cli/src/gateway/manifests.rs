//! Reads manifests from files, folders and standard input.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use ::gateway::manifest::{ManifestContents, read_manifest};
use files::regular_file;

use crate::common_args::file_name;
use crate::outcome::CommandError;

/// The most bytes of one file. `kubectl get -A -o yaml` of a large cluster stays below.
const FILE_MAX: u64 = 256 * 1_024 * 1_024;

/// The most files of one folder.
const FILES_MAX: usize = 10_000;

/// Reads all objects of these files. `-` is standard input; of a folder its files that end in `.yaml`, `.yml` and
/// `.json` are read, and no folder within it.
pub fn read_manifests(paths: &[PathBuf]) -> Result<ManifestContents, CommandError> {
    let mut contents = ManifestContents::default();
    for path in paths {
        for file in manifest_files(path)? {
            let text = read_text(&file)?;
            let found = read_manifest(&text, &file_name(&file));
            contents.objects.extend(found.objects);
            contents.problems.extend(found.problems);
            contents.ignored.extend(found.ignored);
        }
    }
    Ok(contents)
}

fn manifest_files(path: &Path) -> Result<Vec<PathBuf>, CommandError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |error: std::io::Error| describe_unreadable(path, &error);
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        let ending = file.extension().and_then(|ending| ending.to_str());
        if matches!(ending, Some("yaml" | "yml" | "json")) && !file.is_dir() {
            files.push(file);
        }
        if files.len() > FILES_MAX {
            let message = format!("{}: more than {FILES_MAX} files", path.display());
            return Err(CommandError::Unusable(message));
        }
    }
    if files.is_empty() {
        let message = format!("{}: no file in it ends in .yaml, .yml or .json", path.display());
        return Err(CommandError::Unusable(message));
    }
    files.sort();
    Ok(files)
}

fn read_text(file: &Path) -> Result<String, CommandError> {
    if file != Path::new("-") {
        return regular_file::read_text(file, FILE_MAX)
            .map_err(|error| describe_unreadable(file, &error));
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().take(FILE_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| describe_unreadable(file, &error))?;
    if text.len() as u64 > FILE_MAX {
        let message = format!("standard input has more than {FILE_MAX} bytes");
        return Err(CommandError::Unusable(message));
    }
    Ok(text)
}

fn describe_unreadable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::Unusable(format!("cannot read {}: {error}", file_name(path)))
}
