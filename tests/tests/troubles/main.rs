//! Planted troubles, a row each: the API, `status` and `top` show the trouble, and show nothing once it is over.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod disk;
mod edges;
mod files;
mod servers;
mod stage;
mod table;
mod traffic;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use stage::{TroubleRow, prove};

/// Rows side by side: each mostly waits for a window of seconds to pass.
const AT_ONCE: usize = 8;

#[test]
fn every_planted_trouble_is_shown_and_shows_nothing_once_it_is_over() {
    let rows: Vec<&TroubleRow> = table::rows().collect();
    let names: std::collections::BTreeSet<&str> = rows.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), rows.len(), "a name stands twice");
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = prove(row) {
                        failed.lock().unwrap().push(format!("{}: {why}", row.name));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {} rows:\n{}", failed.len(), rows.len(), failed.join("\n"));
}
