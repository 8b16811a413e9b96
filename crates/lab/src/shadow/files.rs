//! The files that a shadow run puts into the private root of both sides.
//!
//! Certificates, keys and authorities are replaced, so that clients of the run can be verified by them. Other files are
//! only made where the machine has none.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use files::create::{create, make_dir};

use super::identity::ShadowIdentity;
use super::inventory::{FileContent, NamedFile};
use super::plan::{HostEntry, RESOLVER};

/// Writes the files below `root`, at the paths that the configuration names.
pub fn write_files(
    root: &Path,
    files: &[NamedFile],
    hosts: &[HostEntry],
    identity: &ShadowIdentity,
) -> io::Result<()> {
    let mut names = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    for HostEntry { name, address } in hosts {
        names.push_str(&format!("{address} {name}\n"));
    }
    write(root, "/etc/hosts", &names)?;
    write(root, "/etc/resolv.conf", &format!("nameserver {}\n", RESOLVER.ip()))?;
    for NamedFile { path, content } in files {
        let text = match content {
            FileContent::Certificate => &identity.pair,
            FileContent::CertificateWithKey => &identity.single,
            FileContent::Key => &identity.key,
            FileContent::Authority => &identity.authority,
            FileContent::RevocationList => &identity.revoked,
            FileContent::CertificateDirectory => {
                let one = format!("{}/shadow.pem", path.trim_end_matches('/'));
                write(root, &one, &identity.pair)?;
                continue;
            }
            FileContent::ErrorAnswer => ERROR_ANSWER,
            FileContent::Empty => "",
            FileContent::Parent => {
                make_dir(inside(root, path).parent().unwrap_or(root), 0o755)?;
                continue;
            }
        };
        let made_up = matches!(content, FileContent::ErrorAnswer | FileContent::Empty);
        if !(made_up && Path::new(path).exists()) {
            write(root, path, text)?;
        }
    }
    Ok(())
}

const ERROR_ANSWER: &str =
    "HTTP/1.0 503 Sorry\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\nsorry\n";

fn inside(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// Writes a file at an absolute path below `root`; one that is there is replaced.
pub fn write(root: &Path, path: &str, text: &str) -> io::Result<()> {
    let place = inside(root, path);
    // Two words may name one file. Ignored: usually it is not there.
    let _ = fs::remove_file(&place);
    make_dir(place.parent().unwrap_or(root), 0o755)?;
    // Keys must be readable by their owner alone; a worker of another user reads the rest.
    let mode = if text.contains("PRIVATE KEY") { 0o600 } else { 0o644 };
    create(&place, mode)?.write_all(text.as_bytes())
}
