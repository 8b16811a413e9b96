//! The archive: files in tar's form (POSIX.1-1988, ustar), compressed with gzip, bounded in size. Every text passes
//! `redact` on its way in.

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::redact::redact;

/// Bytes of one file; the rest is cut off and noted. Bounds the archive if a log is huge.
pub const FILE_BYTES: usize = 8 * 1_024 * 1_024;
/// Bytes of all files; further files are left out and noted.
/// Mail and ticket systems accept attachments of some ten megabytes; the archive is compressed.
pub const ALL_BYTES: usize = 32 * 1_024 * 1_024;
/// The folder that everything unpacks into.
const FOLDER: &str = "steelyard-support";
/// The block of a tar archive (POSIX pax).
const BLOCK: usize = 512;

/// Files on their way.
#[derive(Debug)]
pub struct SupportArchive {
    tar: Vec<u8>,
    files: Vec<String>,
    missing: Vec<String>,
    now_s: u64,
}

impl SupportArchive {
    /// An empty one; files are dated `now_s`.
    pub fn new(now_s: u64) -> SupportArchive {
        SupportArchive { tar: Vec::new(), files: Vec::new(), missing: Vec::new(), now_s }
    }

    /// One file, without its secrets.
    pub fn add(&mut self, name: &str, text: &str) {
        let mut end = text.len().min(FILE_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        if end < text.len() {
            self.note_missing(&format!("{name}: only its first {end} of {} bytes", text.len()));
        }
        let clean = redact(text.get(..end).unwrap_or_default());
        if self.tar.len() + clean.len() > ALL_BYTES {
            return self.note_missing(&format!("{name}: the archive is full"));
        }
        self.entry(name, clean.as_bytes());
        self.files.push(name.to_owned());
    }

    /// Something that is not there, and why.
    pub fn note_missing(&mut self, note: &str) {
        self.missing.push(redact(note).trim_end().to_owned());
    }

    /// Names of the files so far.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// The files that are missing.
    pub fn missing_files(&self) -> &[String] {
        &self.missing
    }

    fn entry(&mut self, name: &str, bytes: &[u8]) {
        let mut head = [0u8; BLOCK];
        let mut put = |at: usize, text: &str| {
            for (to, from) in head.iter_mut().skip(at).zip(text.bytes()) {
                *to = from;
            }
        };
        put(0, &format!("{FOLDER}/{name}"));
        put(100, "0000600");
        put(108, "0000000");
        put(116, "0000000");
        put(124, &format!("{:011o}", bytes.len()));
        put(136, &format!("{:011o}", self.now_s));
        put(148, "        ");
        put(156, "0");
        put(257, "ustar\u{0}00");
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        for (to, from) in head.iter_mut().skip(148).zip(format!("{sum:06o}\u{0} ").bytes()) {
            *to = from;
        }
        self.tar.extend_from_slice(&head);
        self.tar.extend_from_slice(bytes);
        self.tar.resize(self.tar.len().next_multiple_of(BLOCK), 0);
    }

    /// The compressed archive; missing files are listed in a file of it.
    pub fn finish(mut self) -> io::Result<Vec<u8>> {
        if !self.missing.is_empty() {
            let text = self.missing.join("\n") + "\n";
            self.entry("missing.txt", text.as_bytes());
        }
        self.tar.resize(self.tar.len() + 2 * BLOCK, 0);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&self.tar)?;
        gzip.finish()
    }

    /// Into a new file that only its owner may read; its bytes.
    pub fn write(self, path: &Path) -> io::Result<u64> {
        let bytes = self.finish()?;
        let mut file = files::create::create(path, 0o600)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        Ok(bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn unpacked(archive: SupportArchive) -> String {
        let bytes = archive.finish().unwrap();
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn planted_secrets_are_in_no_file() {
        let mut archive = SupportArchive::new(1);
        for name in ["config/file.toml", "status.json", "events.json", "machine/x"] {
            archive.add(name, "ok\nauthorization: hunter2\n-----BEGIN EC PRIVATE KEY-----\nhunter2\n-----END EC PRIVATE KEY-----\n");
        }
        archive.note_missing("events: https://a:hunter2@b/");
        let text = unpacked(archive);
        assert!(!text.contains("hunter2"));
        assert_eq!(text.matches("\nok\n").count() + text.matches("\0ok\n").count(), 4);
    }

    #[test]
    fn the_archive_is_bounded_and_notes_omissions() {
        let mut archive = SupportArchive::new(1);
        let large = "x".repeat(FILE_BYTES + 1);
        for n in 0..5 {
            archive.add(&format!("{n}"), &large);
        }
        assert_eq!(archive.files().len(), 3);
        assert!(
            archive.missing_files().iter().any(|one| one.contains("full")),
            "{:?}",
            archive.missing_files()
        );
        assert!(archive.tar.len() <= ALL_BYTES + BLOCK);
    }

    #[test]
    fn tar_reads_it() {
        let dir = files::TemporaryDir::new("support").unwrap();
        let file = dir.path().join("a.tar.gz");
        let mut archive = SupportArchive::new(1_700_000_000);
        archive.add("status.json", "{}");
        archive.write(&file).unwrap();
        let listed = std::process::Command::new("tar").arg("-tzf").arg(&file).output().unwrap();
        let second_error = SupportArchive::new(1).write(&file).unwrap_err();
        assert_eq!(String::from_utf8_lossy(&listed.stdout), "steelyard-support/status.json\n");
        assert_eq!(second_error.kind(), io::ErrorKind::AlreadyExists);
    }
}
