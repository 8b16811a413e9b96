//! Certificates, and a file that differs from what is active.

use rustix::process::Signal;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};

use crate::stage::{PLAIN, TroubleRow, TroubleStage};

fn write_certificate(stage: &TroubleStage, until: i32) {
    let authority = CertificateAuthority::new("troubles");
    let names = ["shop.example"];
    authority.pair(stage.place.dir().join("pair.pem"), &certificate_for(&names).until(until));
}

/// A second service with a certificate.
fn with_certificate(stage: &TroubleStage) {
    let text = std::fs::read_to_string(stage.place.file()).unwrap();
    let dir = stage.place.dir().path().display();
    let port = tests::e2e::servers::reserve_port();
    let service = format!(
        "[service.tls]\nlisten = \"{}\"\nforward = \"http\"\npool = \"web\"\n\
         tls = \"{dir}/pair.pem\"\n",
        port.address()
    );
    std::fs::write(stage.place.file(), format!("{text}{service}")).unwrap();
    write_certificate(stage, 2100);
}

pub const ROWS: &[TroubleRow] = &[
    TroubleRow {
        name: "a certificate that has ended",
        prepare: with_certificate,
        plant: |stage| {
            write_certificate(stage, 2001);
            stage.signal(Signal::HUP);
        },
        shows: "service.tls.tls",
        heal: |stage| {
            write_certificate(stage, 2100);
            stage.signal(Signal::HUP);
        },
        ..PLAIN
    },
    TroubleRow {
        name: "a certificate that cannot be read",
        prepare: with_certificate,
        plant: |stage| drop(stage.place.dir().write("pair.pem", "not a certificate")),
        shows: "not taken up",
        heal: |stage| write_certificate(stage, 2100),
        ..PLAIN
    },
    TroubleRow {
        name: "a file that differs",
        plant: |stage| {
            let setup = stage.place.setup();
            stage.place.write(&setup.pool("retries = 0"));
        },
        shows: "steelyard.toml",
        heal: |stage| stage.verb(&["reload"]),
        ..PLAIN
    },
    TroubleRow {
        name: "a file with a mistake",
        plant: |stage| {
            let setup = stage.place.setup();
            stage.place.write(&setup.with_tables("[pool.broken]\nserver = 1\n"));
        },
        shows: "steelyard.toml",
        heal: |stage| {
            let setup = stage.place.setup();
            stage.place.write(&setup.with_tables(""));
        },
        ..PLAIN
    },
    TroubleRow {
        name: "a setting that needs a restart",
        plant: |stage| {
            let setup = stage.place.setup();
            stage.place.write(&setup.global("workers = 1\n"));
            stage.verb(&["reload"]);
        },
        shows: "takes effect only after a restart",
        heal: |stage| {
            let setup = stage.place.setup();
            stage.place.write(&setup.global(""));
            stage.verb(&["reload"]);
        },
        ..PLAIN
    },
];
