//! The types of the schema, used by decoding, inheritance, `check --explain` and the reference. `verify` checks
//! relations between keys.

use super::value::ConfigValue;
use std::time::Duration;
/// Limit for services and for pools of one file.
/// A configuration of this size is generated; more belong on several machines.
pub const MAX_OBJECTS: usize = 10_000;
/// Limit for servers of all pools together: more than a thousand services of a hundred servers, and than a file can
/// hold with names.
pub const MAX_SERVERS: usize = 131_072;

/// A table of the file: its keys in the order of the explanation.
#[derive(Debug)]
pub struct TableSchema {
    /// The table in messages: `a pool`.
    pub description: &'static str,
    pub keys: &'static [KeySchema],
    /// Groups of keys that exclude each other; in inheritance, a nearer group replaces the others.
    pub exclusive_groups: &'static [&'static [&'static str]],
}

#[derive(Debug)]
pub struct KeySchema {
    pub name: &'static str,
    /// Earlier names (`KeySchema::formerly`).
    pub former_names: &'static [&'static str],
    /// The type of value.
    pub kind: ValueKind,
    /// The value if the key is absent.
    pub default: DefaultValue,
    /// The description of the key, a sentence or two.
    pub doc: &'static str,
    /// Whether an absent key inherits from the outer table: `[global]` for services and pools, the pool for servers.
    pub inherits: bool,
    /// Whether the key has no effect for `forward = "tcp"`.
    pub http_only: bool,
    /// Whether the key has no effect for proxied services.
    pub packets_only: bool,
    /// Whether the key has no effect for services that forward packets.
    pub proxy_only: bool,
    /// Whether tables of this list inherit from the table around them, whose own module resolves them.
    pub elements_inherit: bool,
}

/// The value if a key is absent.
#[derive(Debug)]
pub enum DefaultValue {
    /// The key must be written.
    Required,
    Literal(ConfigValue),
    Absent,
    /// The inner table with its own defaults.
    Inner,
    /// Depends on other settings; the text describes how.
    Derived(&'static str),
}

/// The type of a value.
#[derive(Debug)]
pub enum ValueKind {
    Flag,
    /// A whole number with inclusive bounds.
    Count {
        min: u64,
        max: u64,
        /// The keyword for unset.
        unset: Option<&'static str>,
    },
    /// A time with its unit and inclusive bounds.
    Time {
        min: Duration,
        max: Duration,
        /// Whether the kernel accepts only whole seconds.
        whole_seconds: bool,
        /// The keyword for unset.
        unset: Option<&'static str>,
    },
    /// A number of bytes with its unit and inclusive bounds.
    Size {
        min: u64,
        max: u64,
        /// The keyword for unset.
        unset: Option<&'static str>,
    },
    /// Bits per second with their unit and inclusive bounds.
    Rate {
        min: u64,
        max: u64,
        /// The keyword for unset.
        unset: Option<&'static str>,
    },
    /// A percentage with inclusive bounds in parts per million, and the keyword for unset.
    Share(u64, u64, Option<&'static str>),
    /// One keyword of a closed list.
    Keyword(&'static [Keyword]),
    /// One or several keywords of a closed list, each at most once.
    KeywordList(&'static [Keyword]),
    /// One or several texts of a format, each at most once.
    Texts {
        form: TextFormat,
        /// The keyword for unset.
        unset: Option<&'static str>,
    },
    Text {
        form: TextFormat,
        /// The keyword for unset.
        unset: Option<&'static str>,
    },
    /// A list of texts in order, possibly repeated; a single one counts as a list.
    Lines {
        form: TextFormat,
        most: usize,
    },
    Mode,
    /// Listening addresses: one or a list; `":80"` means every address of both families.
    Listen,
    /// One local address and port.
    Socket,
    /// One address without port, or a list.
    Addresses,
    /// One address without port, a list, or this keyword.
    AddressesOr(&'static str),
    /// Networks: one or a list.
    Prefixes,
    /// Networks, and files of networks: one or a list.
    PrefixesOrFiles,
    /// A port or a range of ports.
    PortRange,
    /// A daily time window.
    DailyWindow,
    /// The address and port of a server.
    Server,
    /// HTTP statuses: `200`, `"200-299"`, or a list of them.
    Status,
    /// Local paths: one or a list.
    Files,
    Table {
        table: &'static TableSchema,
        /// The short form.
        short: TableShorthand,
        /// The keyword for no table.
        unset: Option<&'static str>,
    },
    /// A list of tables.
    List {
        table: &'static TableSchema,
        /// The short form of an element.
        short: TableShorthand,
        /// Limit for elements in the whole file.
        most: usize,
    },
    /// Tables by name.
    Named {
        /// The table of one name.
        table: &'static TableSchema,
        /// The format of a name: `TextFormat::Name` or `TextFormat::Domain`.
        form: TextFormat,
        most: usize,
    },
    /// A known key that is rejected for this reason.
    Refused(&'static str),
}

/// A keyword of a closed list.
#[derive(Debug)]
pub struct Keyword {
    pub name: &'static str,
    /// Earlier names (`Keyword::formerly`).
    pub former_names: &'static [&'static str],
    /// Whether this build supports the keyword.
    pub available: bool,
}

/// The short form of a table.
#[derive(Clone, Copy, Debug)]
pub enum TableShorthand {
    None,
    /// A value for this key.
    Key(&'static str),
    /// One of these keywords, which sets the key of the same name to `true`.
    Flags(&'static [&'static str]),
    /// `true`: the table with all defaults; `false`: the keyword for no table.
    Switch,
}

/// The format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// A kebab-case name of a configuration object.
    Name,
    /// A local path.
    File,
    /// `stderr`, `stdout`, `off` or a path.
    Target,
    /// A network interface: 1–15 bytes, no blank, no `/` (Linux, dev_valid_name).
    Interface,
    /// A congestion control algorithm: 1–15 letters, digits, `_` or `-` (Linux, `TCP_CA_NAME_MAX`).
    Congestion,
    /// A request target in origin form (RFC 9112 §3.2.1).
    RequestPath,
    /// A Host header's value (RFC 9110 §7.2).
    Host,
    /// Any text, at most 4,096 bytes.
    FreeText,
    /// A regular expression (`Pattern`).
    Pattern,
    /// `sha256:` and 64 hexadecimal digits.
    Digest,
    /// A token such as a method (RFC 9110 §5.6.2).
    Token,
    /// A method (RFC 9110 §9.1).
    Method,
    /// A header field: `name: value`.
    Field,
    /// A header field, whose value may have variables (`ValueTemplate`).
    FieldTemplate,
    /// A Host header's value, which may have variables (`ValueTemplate`).
    HostTemplate,
    /// The beginning of a URL, which may have variables (`ValueTemplate`).
    LocationTarget,
    /// The value of an attribute of a cookie (RFC 6265 §4.1.1), possibly empty.
    CookieAttribute,
    /// A domain name or an address.
    Domain,
    /// An SNMP object identifier: numbers with dots.
    Oid,
    /// A field of the access log (`AccessLogField`).
    LogField,
    /// The name of a header field that rules may write.
    FieldName,
    /// Visible text with blanks inside: the value of a header field.
    VisibleText,
    /// A host, or every name below a domain (`HostPattern`).
    HostPattern,
    /// Whole labels of a host (`HostPart`).
    HostPart,
    /// A path, what begins so, or a glob (`PathPattern`).
    PathPattern,
    /// A header field with or without a value (`NameValuePattern::parse_field`).
    Match,
    /// A header field and an expression for its value (`FieldPattern`).
    FieldPattern,
    /// A cookie, with its value or without (`Match::pair`).
    Cookie,
    /// A cookie value that names a server: 1–64 characters of RFC 6265 §4.1.1 except `~`.
    CookieValue,
    /// A query parameter with or without a value (`NameValuePattern`).
    Pair,
    /// A range of numbers (`NumberRange`).
    Range,
    /// A media type, or a group of them such as `text/*`.
    MediaType,
    /// A target with placeholders (`template`).
    Template,
}

impl KeySchema {
    /// A key that is not inherited and applies to all methods.
    pub const fn new(
        name: &'static str,
        kind: ValueKind,
        default: DefaultValue,
        doc: &'static str,
    ) -> KeySchema {
        KeySchema {
            name,
            former_names: &[],
            kind,
            default,
            doc,
            inherits: false,
            http_only: false,
            packets_only: false,
            proxy_only: false,
            elements_inherit: false,
        }
    }

    /// A known key that is rejected, with the reason.
    pub const fn refused(name: &'static str, reason: &'static str) -> KeySchema {
        KeySchema::new(name, ValueKind::Refused(reason), DefaultValue::Absent, "")
    }

    pub const fn inherited(mut self) -> KeySchema {
        self.inherits = true;
        self
    }

    /// Restricts the key to `http`.
    pub const fn http_only(mut self) -> KeySchema {
        self.http_only = true;
        self
    }

    /// Restricts the key to `mac`, `nat` and `tunnel`.
    pub const fn packets_only(mut self) -> KeySchema {
        self.packets_only = true;
        self
    }

    /// Restricts the key to `http` and `tcp`.
    pub const fn proxy_only(mut self) -> KeySchema {
        self.proxy_only = true;
        self
    }

    /// Marks a list whose tables inherit from the table around them.
    pub const fn elements_inherit(mut self) -> KeySchema {
        self.elements_inherit = true;
        self
    }
}

impl ValueKind {
    /// A time with bounds in milliseconds.
    pub const fn time(min: u64, max: u64) -> ValueKind {
        ValueKind::Time {
            min: Duration::from_millis(min),
            max: Duration::from_millis(max),
            whole_seconds: false,
            unset: None,
        }
    }

    /// A time with bounds in milliseconds, or a keyword.
    pub const fn time_or_keyword(min: u64, max: u64, unset: &'static str) -> ValueKind {
        ValueKind::Time {
            min: Duration::from_millis(min),
            max: Duration::from_millis(max),
            whole_seconds: false,
            unset: Some(unset),
        }
    }

    /// Whole seconds with bounds.
    pub const fn seconds(min: u64, max: u64, unset: Option<&'static str>) -> ValueKind {
        ValueKind::Time {
            min: Duration::from_secs(min),
            max: Duration::from_secs(max),
            whole_seconds: true,
            unset,
        }
    }

    /// A number with bounds.
    pub const fn count(min: u64, max: u64) -> ValueKind {
        ValueKind::Count { min, max, unset: None }
    }

    /// A number with bounds, or a keyword.
    pub const fn count_or_keyword(min: u64, max: u64, unset: &'static str) -> ValueKind {
        ValueKind::Count { min, max, unset: Some(unset) }
    }

    pub const fn size(min: u64, max: u64) -> ValueKind {
        ValueKind::Size { min, max, unset: None }
    }

    /// A table that exists with its defaults even if it is not written.
    pub const fn table(table: &'static TableSchema) -> ValueKind {
        ValueKind::Table { table, short: TableShorthand::None, unset: None }
    }
}

impl DefaultValue {
    /// A time in milliseconds.
    pub const fn millis(millis: u64) -> DefaultValue {
        DefaultValue::Literal(ConfigValue::Time(Duration::from_millis(millis)))
    }

    pub const fn count(count: u64) -> DefaultValue {
        DefaultValue::Literal(ConfigValue::Count(count))
    }

    /// The keyword for unset.
    pub const fn unset(word: &'static str) -> DefaultValue {
        DefaultValue::Literal(ConfigValue::Unset(word))
    }

    pub const fn text(text: &'static str) -> DefaultValue {
        DefaultValue::Literal(ConfigValue::Text(std::borrow::Cow::Borrowed(text)))
    }

    /// A keyword of the list.
    pub const fn keyword(word: &'static str) -> DefaultValue {
        DefaultValue::Literal(ConfigValue::Keyword(word))
    }
}

impl Keyword {
    pub const fn new(name: &'static str) -> Keyword {
        Keyword { name, former_names: &[], available: true }
    }

    /// A keyword that this build does not support.
    pub const fn unavailable(name: &'static str) -> Keyword {
        Keyword { name, former_names: &[], available: false }
    }
}
