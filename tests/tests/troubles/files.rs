//! Files, programs and other services that the daemon goes on without.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;

use crate::stage::{PLAIN, TroubleRow, TroubleStage};

const PASSWORDS: &str = "ann:$apr1$x$16j9.5e7KiXmuYFAYpPJM/\n";
const PAGE: &str = "<h1>Back soon</h1>";

/// Adds tables to the file, in which `DIR` is the test's directory and `PORT` an address to listen at.
fn add_tables(stage: &TroubleStage, tables: &str) {
    let text = std::fs::read_to_string(stage.place.file()).unwrap();
    let port = tests::e2e::servers::reserve_port();
    let dir = stage.place.dir().path().display().to_string();
    let tables = tables.replace("DIR", &dir).replace("PORT", &port.address().to_string());
    std::fs::write(stage.place.file(), format!("{text}{tables}")).unwrap();
}

/// A service of its own with such lines.
fn add_service(stage: &TroubleStage, lines: &str) {
    let service = "[service.more]\nlisten = \"PORT\"\nforward = \"http\"\npool = \"web\"\n";
    add_tables(stage, &format!("{service}{lines}"));
}

fn write(stage: &TroubleStage, name: &str, text: &str) {
    drop(stage.place.dir().write(name, text));
}

fn write_hook(stage: &TroubleStage, command: &str) {
    // The kernel runs no file that is open for writing.
    let new = stage.place.dir().write("hook.new", format!("#!/bin/sh\n{command}\n"));
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(new, stage.place.dir().join("hook")).unwrap();
}

fn set_collector(stage: &TroubleStage, collector: SocketAddr) {
    let setup = stage.place.setup();
    stage.place.write(&setup.global(&format!("telemetry = {{ collector = \"{collector}\" }}\n")));
}

fn drain_and_enable(stage: &TroubleStage) {
    stage.verb(&["server", "drain", "web/b"]);
    stage.verb(&["server", "enable", "web/b"]);
}

pub const ROWS: &[TroubleRow] = &[
    TroubleRow {
        name: "a file of passwords that becomes nonsense",
        prepare: |stage| {
            write(stage, "passwords", PASSWORDS);
            let auth = "[auth.staff]\nkind = \"basic\"\nfile = \"DIR/passwords\"\n";
            add_service(stage, &format!("auth = \"staff\"\n{auth}"));
        },
        plant: |stage| write(stage, "passwords", "no such line\n"),
        shows: "auth.staff.file",
        // The same as it was: nothing is renewed by it.
        heal: |stage| write(stage, "passwords", PASSWORDS),
        ..PLAIN
    },
    TroubleRow {
        name: "a file of networks that becomes nonsense",
        prepare: |stage| {
            write(stage, "cdn", "192.0.2.0/24\n");
            add_service(stage, "trust = [\"file:DIR/cdn\"]\nclient-from = \"x-forwarded-for\"\n");
        },
        plant: |stage| write(stage, "cdn", "192.0.2.0/99\n"),
        shows: "service.more.trust",
        heal: |stage| write(stage, "cdn", "192.0.2.0/24\n"),
        ..PLAIN
    },
    TroubleRow {
        name: "an error page that is gone",
        prepare: |stage| {
            write(stage, "page", PAGE);
            let page = "[[service.more.error-page]]\nstatus = 503\nfile = \"DIR/page\"\n";
            add_service(stage, page);
        },
        plant: |stage| std::fs::remove_file(stage.place.dir().join("page")).unwrap(),
        shows: "service.more.error-page[0].file",
        heal: |stage| write(stage, "page", PAGE),
        ..PLAIN
    },
    TroubleRow {
        name: "a hook that fails",
        prepare: |stage| {
            write_hook(stage, "exit 3");
            add_tables(
                stage,
                "[[global.hook]]\nname = \"page\"\nrun = \"DIR/hook\"\non = [\"server-drain\"]\n",
            );
        },
        plant: drain_and_enable,
        shows: "hook page",
        heal: |stage| {
            write_hook(stage, "exit 0");
            drain_and_enable(stage);
        },
        ..PLAIN
    },
    TroubleRow {
        name: "a telemetry collector that is away",
        // Like a collector, a server of the test answers whatever it is sent.
        prepare: |stage| set_collector(stage, stage.origins[0].address()),
        plant: |stage| {
            set_collector(stage, tests::e2e::servers::reserve_port().address());
            stage.verb(&["reload"]);
        },
        shows: "collector 127.0.0.1",
        heal: |stage| {
            set_collector(stage, stage.origins[0].address());
            stage.verb(&["reload"]);
        },
        ..PLAIN
    },
];
