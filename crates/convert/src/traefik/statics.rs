//! Sections of the static configuration that tell how Traefik itself runs.

use crate::note_kind::NoteKind;
use crate::notes::ConversionNotes;

use super::option_tree::OptionNode;

/// What becomes of a section.
struct SectionOutcome {
    name: &'static str,
    kind: NoteKind,
    reason: &'static str,
    instead: &'static str,
}

const SECTIONS: [SectionOutcome; 12] = [
    SectionOutcome {
        name: "global",
        kind: NoteKind::NotNeeded,
        reason: "nothing is sent to anybody about versions and usage",
        instead: "",
    },
    SectionOutcome {
        name: "log",
        kind: NoteKind::Changed,
        reason: "messages go to standard error",
        instead: "the service manager's log",
    },
    SectionOutcome {
        name: "accessLog",
        kind: NoteKind::Changed,
        reason: "failed exchanges are logged as JSON to standard error unless the configuration says otherwise",
        instead: "`global.access-log`",
    },
    SectionOutcome {
        name: "metrics",
        kind: NoteKind::LeftOut,
        reason: "metrics have other names, and an endpoint of their own",
        instead: "`global.metrics`",
    },
    SectionOutcome {
        name: "tracing",
        kind: NoteKind::LeftOut,
        reason: "spans are sent to a collector of their own",
        instead: "`global.telemetry`",
    },
    SectionOutcome {
        name: "api",
        kind: NoteKind::LeftOut,
        reason: "the dashboard is another one, with tokens of its own",
        instead: "`global.control` with `listen` and `tokens`",
    },
    SectionOutcome {
        name: "ping",
        kind: NoteKind::LeftOut,
        reason: "no path tells that the balancer itself is well",
        instead: "a rule with `answer = 200`",
    },
    SectionOutcome {
        name: "providers",
        kind: NoteKind::LeftOut,
        reason: "only this file is converted: what providers find elsewhere is not in it",
        instead: "convert each file of the provider; `servers-from` finds servers by name",
    },
    SectionOutcome {
        name: "experimental",
        kind: NoteKind::LeftOut,
        reason: "there are no plugins: routers that use one are closed",
        instead: "",
    },
    SectionOutcome {
        name: "hostResolver",
        kind: NoteKind::LeftOut,
        reason: "hosts are compared as clients ask for them, without asking the DNS",
        instead: "write the names out",
    },
    SectionOutcome {
        name: "spiffe",
        kind: NoteKind::LeftOut,
        reason: "servers are verified by names and authorities",
        instead: "`[pool.NAME.tls]`",
    },
    SectionOutcome {
        name: "ocsp",
        kind: NoteKind::Changed,
        reason: "a response beside the certificate's file is stapled, and none is fetched",
        instead: "a file `.ocsp` beside the certificate",
    },
];

/// Reports the sections that have no objects of their own in the output.
pub fn note_sections(root: &OptionNode, notes: &mut ConversionNotes) {
    for section in SECTIONS {
        let Some(node) = root.get(section.name) else { continue };
        match section.kind {
            NoteKind::NotNeeded => node.not_needed(notes, section.reason),
            NoteKind::Changed => node.changed(notes, section.reason, section.instead),
            _ => node.left_out(notes, section.reason, section.instead),
        }
    }
    if let Some(core) = root.get("core") {
        core.not_needed(notes, "both syntaxes of rules are read");
    }
}
