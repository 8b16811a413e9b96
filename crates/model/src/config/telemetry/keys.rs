//! Describes the OpenTelemetry collector.

use std::borrow::Cow;

use crate::config::event_level;
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
    "OpenTelemetry collector for spans and events, by OTLP over HTTP in JSON. Short form: its address.",
);

static COLLECTOR: TableSchema = TableSchema {
    description: "the telemetry table",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "collector",
            ValueKind::Socket,
            DefaultValue::Required,
            "Its address and port; data is sent to `/v1/traces` and `/v1/logs` there.",
        ),
        KeySchema::new(
            "traces",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "Spans of measured exchanges, and W3C trace context to servers.",
        ),
        KeySchema::new(
            "logs",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(true)),
            "Events, as log records.",
        ),
        event_level::TELEMETRY_LEVEL,
        KeySchema::new(
            "name",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Literal(ConfigValue::Text(Cow::Borrowed("steelyard"))),
            "Name of this process (`service.name`).",
        ),
    ],
};
