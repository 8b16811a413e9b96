//! Describes the OpenTelemetry collector.

use std::borrow::Cow;

use crate::config::schema::{
    DefaultValue, KeySchema, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

pub const TELEMETRY: KeySchema = KeySchema::new(
    "telemetry",
    ValueKind::Table {
        table: &COLLECTOR,
        short: TableShorthand::Key("collector"),
        unset: Some("off"),
    },
    DefaultValue::unset("off"),
    "A collector of OpenTelemetry that is sent spans and events, as OTLP over HTTP in JSON. Short form: where it is.",
);

static COLLECTOR: TableSchema = TableSchema {
    description: "the telemetry table",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "collector",
            ValueKind::Socket,
            DefaultValue::Required,
            "Its address and port; `/v1/traces` and `/v1/logs` are asked there.",
        ),
        KeySchema::new(
            "traces",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "Spans of exchanges that are measured, and W3C trace context towards servers.",
        ),
        KeySchema::new(
            "logs",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "Events, as log records.",
        ),
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Literal(ConfigValue::Text(Cow::Borrowed("steelyard"))),
            "What this process is called there (`service.name`).",
        ),
    ],
};
