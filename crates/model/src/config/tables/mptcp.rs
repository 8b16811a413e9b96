//! Describes `[mptcp]`: by which addresses connections of Multipath TCP take further paths.

use super::super::schema::{Fallback, Form, Key, Kind, Short, Table, Word};

/// Endpoints that the kernel keeps.
pub const ENDPOINTS: usize = 8;

/// `[mptcp]`.
pub static MPTCP: Table = Table {
    what: "the mptcp table",
    choices: &[],
    keys: &[
        Key::new(
            "bundle",
            Kind::Text { form: Form::Name, unset: None },
            Fallback::Absent,
            "A bundle of links: the addresses that the interfaces of its links have are endpoints as well.",
        ),
        Key::new(
            "endpoints",
            Kind::List { table: &ENDPOINT, short: Short::Key("address"), most: ENDPOINTS },
            Fallback::Absent,
            "Addresses of this machine by which connections may take further paths; short form: the address.",
        ),
        Key::new(
            "use",
            Kind::Words(&[Word::of("subflow"), Word::of("signal"), Word::of("both")]),
            Fallback::word("both"),
            "What endpoints are for that say nothing themselves: connections that begin here open a subflow from them, \
             the far end is told of them, or both as a connection's side allows.",
        ),
        Key::new(
            "subflows",
            Kind::count(1, 8),
            Fallback::count(4),
            "Further subflows of one connection, and addresses of the far end that are taken up, at most.",
        ),
    ],
};

/// An endpoint of `endpoints`.
pub static ENDPOINT: Table = Table {
    what: "an endpoint",
    choices: &[],
    keys: &[
        Key::new("address", Kind::Addresses, Fallback::Required, "One address of this machine."),
        Key::new(
            "interface",
            Kind::Text { form: Form::Interface, unset: None },
            Fallback::Derived("as the kernel routes"),
            "Subflows from it leave by this interface.",
        ),
        Key::new(
            "use",
            Kind::Words(&[Word::of("subflow"), Word::of("signal"), Word::of("both")]),
            Fallback::Derived("the `use` of the table"),
            "What it is for.",
        ),
        Key::new(
            "backup",
            Kind::Flag,
            Fallback::Is(super::super::value::Value::Flag(false)),
            "Its subflows carry data only while no other one does.",
        ),
    ],
};
