//! Describes hooks, and the events that can start them.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};

pub const HOOK: KeySchema = KeySchema::new(
    "hook",
    ValueKind::List { table: &HOOK_TABLE, short: TableShorthand::None, most: 64 },
    DefaultValue::Absent,
    "Programs that are run when events are sent.",
);

/// Events that can start a hook.
pub static EVENTS: [Keyword; 91] = [
    Keyword::new("all"),
    Keyword::new("server-up"),
    Keyword::new("server-down"),
    Keyword::new("server-unknown"),
    Keyword::new("server-drain"),
    Keyword::new("server-disabled"),
    Keyword::new("server-command").formerly(&["server-set"]),
    Keyword::new("pool-empty"),
    Keyword::new("pool-back"),
    Keyword::new("alarm-on"),
    Keyword::new("alarm-off"),
    Keyword::new("budget-burning"),
    Keyword::new("budget-burn-ended").formerly(&["budget-calm"]),
    Keyword::new("half-open-alarm"),
    Keyword::new("half-open-clear"),
    Keyword::new("certificate-expires"),
    Keyword::new("certificate-good"),
    Keyword::new("connections-evicted"),
    Keyword::new("breaker-open"),
    Keyword::new("breaker-closed"),
    Keyword::new("shedding-begun"),
    Keyword::new("shedding-ended"),
    Keyword::new("acme-failed"),
    Keyword::new("certificate-renewed"),
    Keyword::new("certificate-refused"),
    Keyword::new("auth-renewed"),
    Keyword::new("auth-refused"),
    Keyword::new("key-sets-not-saved").formerly(&["key-sets-not-kept"]),
    Keyword::new("error-page-renewed"),
    Keyword::new("error-page-refused"),
    Keyword::new("networks-renewed"),
    Keyword::new("networks-refused"),
    Keyword::new("sticky-secret"),
    Keyword::new("sticky-secret-renewed"),
    Keyword::new("sticky-secret-refused"),
    Keyword::new("agent-lost"),
    Keyword::new("agent-back"),
    Keyword::new("agent-out-of-range").formerly(&["agent-clamped"]),
    Keyword::new("server-cut"),
    Keyword::new("server-ejected"),
    Keyword::new("server-readmitted"),
    Keyword::new("source-changed"),
    Keyword::new("source-failed"),
    Keyword::new("source-clamped"),
    Keyword::new("source-ports-low"),
    Keyword::new("no-descriptor"),
    Keyword::new("member-active"),
    Keyword::new("member-standby"),
    Keyword::new("member-idle"),
    Keyword::new("member-unhealthy").formerly(&["member-unfit"]),
    Keyword::new("member-healthy").formerly(&["member-fit"]),
    Keyword::new("takeover-blocked").formerly(&["member-withheld"]),
    Keyword::new("takeover-unblocked").formerly(&["member-released"]),
    Keyword::new("witness-lost"),
    Keyword::new("witness-back"),
    Keyword::new("duplicate-address").formerly(&["member-doubled"]),
    Keyword::new("duplicate-address-gone").formerly(&["member-sole"]),
    Keyword::new("member-conflict"),
    Keyword::new("kernel-restored"),
    Keyword::new("pins-not-lasting"),
    Keyword::new("address-preferred"),
    Keyword::new("clock-set"),
    Keyword::new("state-set-aside"),
    Keyword::new("peer-heard"),
    Keyword::new("peer-lost"),
    Keyword::new("path-up"),
    Keyword::new("path-down"),
    Keyword::new("heartbeat-refused"),
    Keyword::new("heartbeat-trouble"),
    Keyword::new("config-drift"),
    Keyword::new("config-agrees"),
    Keyword::new("connections-rehashed"),
    Keyword::new("reach-lost"),
    Keyword::new("reach-back"),
    Keyword::new("reach-behind"),
    Keyword::new("reach-equal").formerly(&["reach-level"]),
    Keyword::new("member-refused"),
    Keyword::new("names-not-listening"),
    Keyword::new("applied"),
    Keyword::new("undone"),
    Keyword::new("reload-failed"),
    Keyword::new("audit-not-saved").formerly(&["audit-not-kept"]),
    Keyword::new("server-commands-not-saved").formerly(&["words-not-kept"]),
    Keyword::new("generations-not-saved").formerly(&["generations-not-kept"]),
    Keyword::new("history-not-saved").formerly(&["history-not-kept"]),
    Keyword::new("history-not-read"),
    Keyword::new("capture-made"),
    Keyword::new("capture-not-made"),
    Keyword::new("capture-refused"),
    Keyword::new("telemetry-failed"),
    Keyword::new("telemetry-back"),
];

/// The kind of event that had this name before.
pub fn renamed_event(former_name: &str) -> Option<&'static str> {
    let renamed = EVENTS.iter().find(|event| event.former_names.contains(&former_name))?;
    Some(renamed.name)
}

/// The kinds of events that can start a hook.
pub fn hook_events() -> impl Iterator<Item = &'static str> {
    EVENTS.iter().map(|event| event.name).filter(|name| *name != "all")
}

static HOOK_TABLE: TableSchema = TableSchema {
    description: "a hook",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Required,
            "Its name, for messages.",
        ),
        KeySchema::new(
            "run",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Required,
            "The program, by its absolute path. It is started without a shell; the event is in its environment.",
        ),
        KeySchema::new(
            "on",
            ValueKind::KeywordList(&EVENTS),
            DefaultValue::Required,
            "Names of events; `all`: every event except those about hooks.",
        ),
        // A program that sends a message needs a second or two; one that hangs must not hold its place.
        KeySchema::new(
            "timeout",
            ValueKind::time(10, 600_000),
            DefaultValue::millis(10_000),
            "Time after which the program and its child processes are killed.",
        ),
        // A burst of events must not become a burst of processes.
        KeySchema::new(
            "max-concurrent",
            ValueKind::count(1, 64),
            DefaultValue::count(4),
            "Programs that may run at a time.",
        )
        .formerly(&["at-once"]),
        // The queue bounds the memory of a burst.
        KeySchema::new(
            "queue",
            ValueKind::count(0, 1_024),
            DefaultValue::count(64),
            "Events that may wait.",
        ),
    ],
};
