//! The log with files, a full disk and pipes without a reader. No test waits for a clock except for the slice of a
//! blocked pipe.

mod syslog;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use model::config::AccessLogTarget;
use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::util::scratch_dir::Scratch;

use super::{AccessCounts, AccessLogOpenError, AccessLogger, NoticeCallback, QUEUE_BATCHES};

fn room() -> Scratch {
    Scratch::new("access").unwrap()
}

fn notices() -> (NoticeCallback, Receiver<String>) {
    let (to, from) = channel();
    (Box::new(move |text| drop(to.send(text))), from)
}

fn start(path: &Path) -> (AccessLogger, Receiver<String>) {
    let (notice, told) = notices();
    (AccessLogger::start(&AccessLogTarget::File(path.to_owned()), notice).unwrap(), told)
}

fn until(log: &AccessLogger, met: impl Fn(AccessCounts) -> bool) -> AccessCounts {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let counts = log.counts();
        if met(counts) {
            return counts;
        }
        assert!(Instant::now() < deadline, "{counts:?}");
        std::thread::yield_now();
    }
}

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn what_was_queued_is_written_before_the_end_and_the_file_is_not_for_everyone() {
    use std::os::unix::fs::PermissionsExt;
    let room = room();
    let path = room.path().join("access.log");
    std::fs::write(&path, "before\n").unwrap();
    let (log, _told) = start(&path);
    assert!(log.log(b"one\ntwo\n".to_vec()));
    assert!(log.log(b"three\n".to_vec()));
    assert!(log.stop(LIMIT));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "before\none\ntwo\nthree\n");
    assert_eq!(log.counts(), AccessCounts { written: 3, ..AccessCounts::default() });
    assert!(log.stop(LIMIT), "a second stop has nothing to do");

    let fresh = room.path().join("fresh.log");
    let (log, _told) = start(&fresh);
    assert!(log.stop(LIMIT));
    assert_eq!(std::fs::metadata(&fresh).unwrap().permissions().mode() & 0o137, 0);
}

// Rows: I43
#[test]
fn a_rotated_file_is_opened_again_on_demand_and_a_target_can_change() {
    let room = room();
    let path = room.path().join("access.log");
    let old = room.path().join("access.log.1");
    let other = room.path().join("other.log");
    let (log, _told) = start(&path);
    log.log(b"one\n".to_vec());
    until(&log, |c| c.written == 1);
    std::fs::rename(&path, &old).unwrap();
    log.log(b"two\n".to_vec());
    until(&log, |c| c.written == 2);
    log.reopen();
    log.log(b"three\n".to_vec());
    until(&log, |c| c.written == 3);
    log.retarget(&AccessLogTarget::File(other.clone())).unwrap();
    log.log(b"four\n".to_vec());
    assert!(log.stop(LIMIT));
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "one\ntwo\n");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "three\n");
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "four\n");
}

#[test]
fn a_missing_directory_is_an_error_at_once_and_keeps_the_old_target() {
    let room = room();
    let nowhere = AccessLogTarget::File(room.path().join("no/such/dir.log"));
    let (notice, _told) = notices();
    assert!(matches!(AccessLogger::start(&nowhere, notice), Err(AccessLogOpenError::File { .. })));

    let path = room.path().join("access.log");
    let (log, _told) = start(&path);
    assert!(log.retarget(&nowhere).is_err());
    log.log(b"still\n".to_vec());
    assert!(log.stop(LIMIT));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "still\n");
}

#[test]
fn a_full_disk_drops_counts_and_reports_once() {
    let (log, told) = start(Path::new("/dev/full"));
    for _ in 0..5 {
        assert!(log.log(b"lost\nlost too\n".to_vec()), "workers are not told of the disk");
    }
    let counts = until(&log, |c| c.dropped_target == 10 && c.errors == 5);
    assert_eq!((counts.written, counts.errors), (0, 5));
    assert!(log.stop(LIMIT));
    let said: Vec<String> = told.iter().collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("/dev/full") && said[0].contains("disk is full"), "{said:?}");
}

fn fifo(room: &Scratch) -> PathBuf {
    let path = room.path().join("fifo");
    rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    path
}

#[test]
fn a_fifo_without_reader_neither_blocks_nor_stops_the_start() {
    let room = room();
    let (log, _told) = start(&fifo(&room));
    assert!(log.log(b"lost\n".to_vec()));
    until(&log, |c| c.dropped_target == 1);
    assert!(log.stop(LIMIT));
}

#[test]
fn a_fifo_that_nobody_reads_fills_and_never_blocks_a_worker() {
    let room = room();
    let path = fifo(&room);
    let reader = rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
    let (log, told) = start(&path);
    let line = [vec![b'x'; 999], vec![b'\n']].concat();
    let batch = line.repeat(100);
    assert!(log.log(batch.clone()));
    let counts = until(&log, |c| c.errors > 0 && c.written + c.dropped_target == 100);
    assert!(counts.written > 0 && counts.dropped_target > 0, "{counts:?}");
    assert!(told.recv().unwrap().contains("nobody reads"));

    // After the reader returns, a whole line follows the partial one.
    let mut reader = std::fs::File::from(reader);
    let mut seen = vec![0; 1 << 20];
    let n = reader.read(&mut seen).unwrap();
    assert!(n > 0);
    assert!(log.log(b"whole\n".to_vec()));
    assert!(log.stop(LIMIT));
    let mut rest = Vec::new();
    let _ = reader.read_to_end(&mut rest);
    assert!(rest.ends_with(b"\nwhole\n") || rest == b"whole\n" && seen[n - 1] == b'\n');
}

#[test]
fn a_full_queue_refuses_and_counts_lines() {
    let room = room();
    let path = fifo(&room);
    let _reader =
        rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
    let (log, _told) = start(&path);
    let batch = b"0123456789\n".repeat(400);
    let refused = (0..4 * QUEUE_BATCHES).filter(|_| !log.log(batch.clone())).count();
    assert!(refused > 0);
    assert_eq!(log.counts().dropped_queue, refused as u64 * 400);
    assert!(!log.stop(Duration::from_millis(1)), "gives up instead of waiting for a reader");
}
