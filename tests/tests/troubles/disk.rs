//! A disk that does not take what the daemon wants to keep.

use std::fs;

use crate::stage::{PLAIN, TroubleRow, TroubleStage};

/// In the place of the state directory stands a file, as on a broken disk.
fn break_state(stage: &TroubleStage) {
    let dir = stage.place.dir();
    fs::rename(dir.join("state"), dir.join("elsewhere")).unwrap();
    fs::write(dir.join("state"), "not a directory").unwrap();
    // The command is carried out, and the verb says that nothing was kept.
    let said = stage.place.run_verb(&["server", "weight", "web/a", "2"]);
    assert_eq!(said.code, 4, "{said:?}");
}

fn mend_state(stage: &TroubleStage) {
    let dir = stage.place.dir();
    fs::remove_file(dir.join("state")).unwrap();
    fs::rename(dir.join("elsewhere"), dir.join("state")).unwrap();
    stage.verb(&["server", "weight", "web/a"]);
}

pub const ROWS: &[TroubleRow] = &[
    TroubleRow {
        name: "server commands are not kept",
        plant: break_state,
        shows: "what is said of servers is not kept",
        heal: mend_state,
        ..PLAIN
    },
    TroubleRow {
        name: "the audit log has a gap",
        plant: break_state,
        shows: "the audit log has a gap here",
        heal: mend_state,
        ..PLAIN
    },
    TroubleRow {
        name: "the access log cannot be written",
        plant: |stage| {
            // Every write to it fails for want of room.
            stage.place.write(&stage.place.setup().log_to("/dev/full"));
            stage.verb(&["reload"]);
        },
        shows: "the access log cannot be written",
        heal: |stage| {
            stage.place.write(&stage.place.setup().log_to("DIR/access.log"));
            stage.verb(&["reload"]);
        },
        ..PLAIN
    },
];
