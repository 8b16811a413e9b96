//! Describes `[mptcp]`: the addresses for further subflows of Multipath TCP connections.

use crate::config::schema::{
    DefaultValue, KeySchema, Keyword, TableSchema, TableShorthand, TextFormat, ValueKind,
};

/// The kernel's limit for endpoints.
/// MPTCP_PM_ADDR_MAX of net/mptcp.
pub const ENDPOINTS: usize = 8;

pub static MPTCP: TableSchema = TableSchema {
    description: "the mptcp table",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "bundle",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Absent,
            "A bundle: the addresses of its links' interfaces are endpoints too.",
        ),
        KeySchema::new(
            "endpoints",
            ValueKind::List {
                table: &ENDPOINT,
                short: TableShorthand::Key("address"),
                most: ENDPOINTS,
            },
            DefaultValue::Absent,
            "Addresses of this machine by which connections may take further paths; short form: the address.",
        ),
        KeySchema::new(
            "use",
            ValueKind::Keyword(&[
                Keyword::new("subflow"),
                Keyword::new("signal"),
                Keyword::new("both"),
            ]),
            DefaultValue::keyword("both"),
            "Use of endpoints without a `use` of their own. `subflow`: connections that begin here open a subflow \
             from them. `signal`: they are announced to the far end. `both`: as the side of a connection allows.",
        ),
        // The kernel's bound (MPTCP_PM_ADDR_MAX).
        KeySchema::new(
            "subflows",
            ValueKind::count(1, 8),
            DefaultValue::count(4),
            "Limit of further subflows of a connection, and of accepted addresses of the far end.",
        ),
    ],
};

/// An endpoint of `endpoints`.
pub static ENDPOINT: TableSchema = TableSchema {
    description: "an endpoint",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "address",
            ValueKind::Addresses,
            DefaultValue::Required,
            "One address of this machine.",
        ),
        KeySchema::new(
            "interface",
            ValueKind::Text { form: TextFormat::Interface, unset: None },
            DefaultValue::Derived("as the kernel routes"),
            "Subflows from it leave by this interface.",
        ),
        KeySchema::new(
            "use",
            ValueKind::Keyword(&[
                Keyword::new("subflow"),
                Keyword::new("signal"),
                Keyword::new("both"),
            ]),
            DefaultValue::Derived("the `use` of the table"),
            "Its use.",
        ),
        KeySchema::new(
            "backup",
            ValueKind::Flag,
            DefaultValue::Literal(crate::config::value::ConfigValue::Flag(false)),
            "Its subflows carry data only while no other one does.",
        ),
    ],
};
