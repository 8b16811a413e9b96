//! Reads files that a configuration names or another user may replace: only regular files of a limited size, without
//! ever waiting.
//!
//! A name may lead to a pipe without a writer, to a device, or to an endless file. The error says what was found and
//! what was expected; the caller adds the path.

use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum RegularError {
    /// The name leads to something else.
    #[error("it is {found}: expected a regular file")]
    NotAFile { found: &'static str },
    /// The file is too large.
    #[error("it has {found} bytes: expected at most {limit}")]
    TooLarge {
        /// The file's size, or the first size that is too large.
        found: u64,
        limit: u64,
    },
}

impl From<RegularError> for io::Error {
    fn from(error: RegularError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

/// Opens a regular file.
///
/// # Errors
/// The file is of another type (`RegularError`), or the system refuses.
pub fn open(path: &Path) -> io::Result<File> {
    // Opening a device may have side effects.
    check_regular(&fs::metadata(path)?)?;
    // Do not wait for a pipe without a writer, nor for a kernel file without data.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    // The name may lead to another file by now.
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// Reads a whole file of at most `limit` bytes.
///
/// # Errors
/// As `open`; the file is too large.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_open(open(path)?, limit)
}

/// Reads a whole text file of at most `limit` bytes.
///
/// # Errors
/// As `read`; the file is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    read_open_text(open(path)?, limit)
}

/// Reads the text of an open file.
///
/// # Errors
/// As `read_text`.
pub fn read_open_text(file: File, limit: u64) -> io::Result<String> {
    let bytes = read_open(file, limit)?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Reads the bytes of an open file.
pub(crate) fn read_open(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let about = file.metadata()?.len();
    if about > limit {
        return Err(RegularError::TooLarge { found: about, limit }.into());
    }
    let mut bytes = Vec::new();
    // The file may grow meanwhile, and kernel files report no size.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    let found = bytes.len() as u64;
    if found > limit {
        return Err(RegularError::TooLarge { found, limit }.into());
    }
    Ok(bytes)
}

fn check_regular(about: &Metadata) -> Result<(), RegularError> {
    if about.is_file() {
        return Ok(());
    }
    Err(RegularError::NotAFile { found: describe_kind(about.file_type()) })
}

pub(crate) fn describe_kind(of: FileType) -> &'static str {
    if of.is_dir() {
        "a directory"
    } else if of.is_fifo() {
        "a named pipe"
    } else if of.is_char_device() || of.is_block_device() {
        "a device"
    } else if of.is_socket() {
        "a socket"
    } else {
        "no file"
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::temporary::TemporaryDir;

    fn error_text(path: &Path, limit: u64) -> String {
        read(path, limit).unwrap_err().to_string()
    }

    #[test]
    fn a_pipe_a_device_a_socket_and_a_directory_are_refused_and_not_waited_for() {
        let room = TemporaryDir::new("regular").unwrap();
        let pipe = room.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600))
            .unwrap();
        let socket = room.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        let link = room.path().join("link");
        symlink(&pipe, &link).unwrap();
        for (path, found) in [
            (pipe.as_path(), "it is a named pipe"),
            (link.as_path(), "it is a named pipe"),
            (Path::new("/dev/zero"), "it is a device"),
            (socket.as_path(), "it is a socket"),
            (room.path(), "it is a directory"),
        ] {
            for said in [error_text(path, 9), read_text(path, 9).unwrap_err().to_string()] {
                assert_eq!(said, format!("{found}: expected a regular file"), "{path:?}");
            }
        }
    }

    #[test]
    fn a_file_has_its_limit_whatever_it_says_of_its_size() {
        let room = TemporaryDir::new("regular").unwrap();
        let file = room.write("six", "sixsix").unwrap();
        assert_eq!(read_text(&file, 6).unwrap(), "sixsix");
        assert_eq!(error_text(&file, 5), "it has 6 bytes: expected at most 5");
        // An endless file is not read.
        let sparse = room.path().join("sparse");
        File::create(&sparse).unwrap().set_len(3 << 40).unwrap();
        assert_eq!(
            error_text(&sparse, 1024),
            format!("it has {} bytes: expected at most 1024", 3_u64 << 40)
        );
        // The kernel reports size 0 for its files.
        assert_eq!(fs::metadata("/proc/self/status").unwrap().len(), 0);
        assert_eq!(
            error_text(Path::new("/proc/self/status"), 9),
            "it has 10 bytes: expected at most 9"
        );
    }

    #[test]
    fn missing_files_and_binary_files_are_errors() {
        let room = TemporaryDir::new("regular").unwrap();
        let none = read(&room.path().join("none"), 9).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::NotFound);
        let bytes = room.path().join("bytes");
        fs::write(&bytes, [0xff]).unwrap();
        assert_eq!(read(&bytes, 1).unwrap(), [0xff]);
        assert!(read_text(&bytes, 1).unwrap_err().to_string().contains("UTF-8"));
    }
}
