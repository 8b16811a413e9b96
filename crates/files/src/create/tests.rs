//! Planted names are not used: each is made as another user would, in a directory like `/tmp`.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use super::*;
use crate::temporary::TemporaryDir;

const STRANGER: u32 = 12_345;

/// A directory like `/tmp`, and one below it that only we can write.
fn shared() -> (TemporaryDir, PathBuf) {
    let room = TemporaryDir::new("shared").unwrap();
    let place = room.path().join("tmp");
    fs::create_dir(&place).unwrap();
    fs::set_permissions(&place, Permissions::from_mode(0o1777)).unwrap();
    (room, place)
}

fn root() -> bool {
    let is = crate::safe_path::effective_uid() == 0;
    if !is {
        ::tests::skip::skip("giving files to another user needs root");
    }
    is
}

fn refused<T>(result: io::Result<T>, says: &str) {
    match result {
        Ok(_) => panic!("it was used"),
        Err(error) => assert!(error.to_string().contains(says), "{error}"),
    }
}

#[test]
fn a_directory_that_another_user_planted_is_not_used() {
    if !root() {
        return;
    }
    let (_room, place) = shared();
    let planted = place.join("steelyard-try-4711");
    fs::create_dir(&planted).unwrap();
    chown(&planted, Some(STRANGER), None).unwrap();
    let says = "belongs to uid 12345";
    refused(make_dir(&planted, 0o700), says);
    refused(make_dir(&planted.join("state"), 0o700), says);
    refused(create(&planted.join("steelyard.toml"), 0o600), says);
    refused(overwrite(&planted.join("log"), 0o600), says);
    refused(append(&planted.join("log"), 0o600), says);
    refused(replace(&planted.join("state.json"), b"x", 0o600, |_| Ok(())), says);
    assert_eq!(fs::read_dir(&planted).unwrap().count(), 0);
}

#[test]
fn a_link_that_another_user_planted_is_not_followed() {
    if !root() {
        return;
    }
    let (room, place) = shared();
    let precious = room.path().join("precious");
    fs::write(&precious, "old").unwrap();
    let link = place.join("out.json");
    symlink(&precious, &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(STRANGER), None).unwrap();
    refused(create(&link, 0o600), "");
    refused(overwrite(&link, 0o600), "belongs to uid 12345");
    refused(append(&link, 0o600), "belongs to uid 12345");
    refused(make_dir(&link, 0o700), "belongs to uid 12345");
    // A dangling link at the place of the file.
    let nowhere = place.join("none");
    symlink(room.path().join("made"), &nowhere).unwrap();
    std::os::unix::fs::lchown(&nowhere, Some(STRANGER), None).unwrap();
    refused(overwrite(&nowhere, 0o600), "belongs to uid 12345");
    // A hard link to a file of ours.
    let second = place.join("second");
    fs::hard_link(&precious, &second).unwrap();
    refused(overwrite(&second, 0o600), "has 2 names");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "old");
    assert!(!room.path().join("made").exists());
}

#[test]
fn what_is_replaced_is_not_written_through_a_link_beside_it() {
    let (room, place) = shared();
    let file = place.join("state.json");
    let precious = room.path().join("precious");
    fs::write(&precious, "old").unwrap();
    symlink(&precious, temporary_path(&file)).unwrap();
    replace(&file, b"new", 0o640, |_| Ok(())).unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "old");
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
}

#[test]
fn our_own_files_are_used() {
    let (room, place) = shared();
    let state = place.join("a/b");
    make_dir(&state, 0o750).unwrap();
    make_dir(&state, 0o700).unwrap();
    assert_eq!(fs::metadata(&state).unwrap().mode() & 0o777, 0o750, "what is there stays");
    let file = state.join("f");
    write(&file, "long text", 0o600).unwrap();
    write(&file, "text", 0o600).unwrap();
    append(&file, 0o600).unwrap().write_all(b" more").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "text more");
    assert_eq!(create(&file, 0o600).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    // Our own symbolic links are followed.
    let link = room.path().join("link");
    symlink(&file, &link).unwrap();
    write(&link, "through", 0o600).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "through");
    write(Path::new("/dev/null"), "nothing", 0o600).unwrap();
    assert!(make_dir(&file, 0o700).unwrap_err().to_string().contains("is not a directory"));
    assert!(make_dir(&file.join("x"), 0o700).is_err());
    assert!(make_dir(&place.join("none/../other"), 0o700).is_err());
    assert_eq!(
        write(&place.join("no/file"), "", 0o600).unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    assert!(is_private_dir(room.path()) && !is_private_dir(&place) && !is_private_dir(&link));
}
