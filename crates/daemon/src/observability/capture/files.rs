//! Captures on disk: one pcapng file each, readable by the daemon's user alone, and limited in number.
//!
//! What a file is stands in its own first comment, so that a list needs nothing but the files.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read};
use std::path::{Path, PathBuf};

use files::create::{create, make_dir};
use trace::output::{self, COMMENT_BYTES, OutputPacket, PcapngWriter};

use super::ring::{AnnotatedPacket, CapturedPacket};

/// Files that a list looks at.
const LISTED: usize = 10_000;
const ENDING: &str = ".pcapng";

/// A capture on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCapture {
    /// Its file's name without the ending.
    pub name: String,
    /// The rule that it was made by.
    pub rule: String,
    /// When it was made, Unix milliseconds.
    pub at_unix_ms: u64,
    pub file: PathBuf,
    pub bytes: u64,
    pub about: String,
}

/// Writes one down; its file. The oldest ones of its rule go.
///
/// # Errors
/// The disk does not take it; nothing of it stays.
pub fn store(
    place: &Path,
    rule: &str,
    at_unix_ms: u64,
    about: &str,
    drops: u64,
    packets: &[AnnotatedPacket],
    keep: usize,
) -> io::Result<StoredCapture> {
    make_dir(place, 0o700)?;
    let name = format!("{rule}-{at_unix_ms}");
    let file = place.join(format!("{name}{ENDING}"));
    let to = create(&file, 0o600)?;
    let bytes = write(to, about, drops, packets).inspect_err(|_| {
        // Half a file is of no use.
        let _ = fs::remove_file(&file);
    })?;
    let mut mine: Vec<StoredCapture> =
        list(place).captures.into_iter().filter(|one| one.rule == rule).collect();
    mine.sort_by_key(|one| one.at_unix_ms);
    let many = mine.len().saturating_sub(keep);
    for old in mine.iter().take(many) {
        fs::remove_file(&old.file)?;
    }
    Ok(StoredCapture {
        name,
        rule: rule.to_owned(),
        at_unix_ms,
        file,
        bytes,
        about: about.to_owned(),
    })
}

fn write(to: File, about: &str, drops: u64, packets: &[AnnotatedPacket]) -> io::Result<u64> {
    let mut pcapng = PcapngWriter::begin(BufWriter::new(to), about, 0)?;
    for AnnotatedPacket { packet, note: comment } in packets {
        let CapturedPacket { at_ns, original, bytes, .. } = &**packet;
        pcapng.write_packet(&OutputPacket {
            at_ns: *at_ns,
            bytes,
            original: *original,
            comment,
        })?;
    }
    let last = packets.last().map_or(0, |last| last.packet.at_ns);
    let file = pcapng.finish(last, drops)?.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

/// The captures on disk.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CaptureListing {
    /// The captures, newest first.
    pub captures: Vec<StoredCapture>,
    /// Why files of such names, or all of them, are ignored: the first reason.
    pub refused: Option<String>,
}

/// The captures that are there.
pub fn list(place: &Path) -> CaptureListing {
    let mut listed = CaptureListing::default();
    let entries = match files::owned_file::entries(place) {
        Ok(entries) => entries.into_iter().flatten().flatten().take(LISTED),
        Err(error) => return CaptureListing { refused: Some(error.to_string()), ..listed },
    };
    for entry in entries {
        match stored(&entry.path()) {
            Ok(Some(one)) => listed.captures.push(one),
            Ok(None) => {}
            Err(error) => drop(listed.refused.get_or_insert(error.to_string())),
        }
    }
    listed.captures.sort_by(|a, b| (b.at_unix_ms, &b.name).cmp(&(a.at_unix_ms, &a.name)));
    listed
}

/// A stored capture, if the file's name has the right form.
fn stored(file: &Path) -> io::Result<Option<StoredCapture>> {
    let named = || {
        let name = file.file_name()?.to_str()?.strip_suffix(ENDING)?;
        let (rule, at) = name.rsplit_once('-')?;
        Some((name.to_owned(), rule.to_owned(), at.parse().ok()?))
    };
    let Some((name, rule, at_unix_ms)) = named() else { return Ok(None) };
    let Some(open) = files::owned_file::open(file)? else { return Ok(None) };
    let bytes = open.metadata()?.len();
    let mut head = Vec::new();
    open.take(COMMENT_BYTES as u64 + 64).read_to_end(&mut head)?;
    let about = output::read_comment(&head).unwrap_or_default();
    Ok(Some(StoredCapture { name, rule, at_unix_ms, file: file.to_owned(), bytes, about }))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    use super::*;
    use crate::util::scratch_dir::Scratch;

    fn packet(at_ns: u64) -> AnnotatedPacket {
        let from = ([192, 0, 2, 1], 1).into();
        let to = ([192, 0, 2, 2], 80).into();
        let kept = CapturedPacket {
            at_ns,
            source: from,
            destination: to,
            original: 99,
            bytes: vec![7; 41].into(),
        };
        AnnotatedPacket { packet: Arc::new(kept), note: "exchange 1".to_owned() }
    }

    #[test]
    fn files_are_kept_listed_and_forgotten() {
        let scratch = Scratch::new("captures").unwrap();
        let place = scratch.path().join("captures");
        assert_eq!(list(&place), CaptureListing::default());
        for at in [1_000, 2_000, 3_000] {
            let stored = store(&place, "slow-shop", at, "why", 5, &[packet(at)], 2).unwrap();
            let mode = stored.file.metadata().unwrap().permissions().mode();
            assert_eq!(
                (mode & 0o777, stored.bytes),
                (0o600, stored.file.metadata().unwrap().len())
            );
        }
        store(&place, "other", 1, "", 0, &[], 2).unwrap();
        fs::write(place.join("rubbish"), "x").unwrap();
        fs::write(place.join("half-7.pcapng"), "x").unwrap();
        let CaptureListing { captures: found, refused } = list(&place);
        assert_eq!(refused, None);
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["slow-shop-3000", "slow-shop-2000", "half-7", "other-1"]);
        assert_eq!((found[0].about.as_str(), found[2].about.as_str()), ("why", ""));
        let mut read =
            trace::input::CaptureReader::open(File::open(&found[0].file).unwrap()).unwrap();
        let frame = read.frame().unwrap().unwrap();
        assert_eq!((frame.time_ns, frame.original_len, frame.bytes.len()), (3_000, 99, 41));
        assert!(store(Path::new("/proc/nowhere"), "a", 1, "", 0, &[], 1).is_err());
        assert!(store(&place, "slow-shop", 3_000, "", 0, &[], 9).is_err(), "it is there already");
    }

    #[test]
    fn files_that_others_put_there_are_named_and_not_listed() {
        let scratch = Scratch::new("captures").unwrap();
        let place = scratch.path().to_owned();
        store(&place, "slow", 1, "why", 0, &[packet(1)], 2).unwrap();
        let link = place.join("planted-2.pcapng");
        std::os::unix::fs::symlink(place.join("slow-1.pcapng"), &link).unwrap();
        let listed = list(&place);
        assert_eq!(listed.captures.len(), 1);
        assert!(listed.refused.unwrap().contains(link.to_str().unwrap()));
    }
}
