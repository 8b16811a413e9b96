//! The form of the configuration's description, which decoding, inheritance, `check --explain` and the reference read.
//! Relations between keys are `verify`'s.

use super::value::ConfigValue;
use std::time::Duration;
/// Services and pools that one file may hold.
pub const MAX_OBJECTS: usize = 10_000;
/// Servers, of all pools together: a thousand services of a hundred each, and more than fit one file's bytes with names.
pub const MAX_SERVERS: usize = 131_072;

/// A table of the file: its keys in the order in which they are explained.
#[derive(Debug)]
pub struct TableSchema {
    /// In messages: `a pool`.
    pub description: &'static str,
    pub keys: &'static [KeySchema],
    /// Keys of which only one group may be written; a group written nearer replaces the others when inherited.
    pub exclusive_groups: &'static [&'static [&'static str]],
}

#[derive(Debug)]
pub struct KeySchema {
    pub name: &'static str,
    /// What may be written.
    pub kind: ValueKind,
    /// What holds when nothing is.
    pub default: DefaultValue,
    /// Its meaning, a sentence or two.
    pub doc: &'static str,
    /// Taken from the table above when it is not written: `[global]` for services and pools, the pool for servers.
    pub inherits: bool,
    /// Means nothing for `forward = "tcp"`.
    pub http_only: bool,
    /// Means nothing where requests or bytes are proxied.
    pub packets_only: bool,
    /// Means nothing where packets are forwarded.
    pub proxy_only: bool,
    /// Tables of this list inherit from the table around them, whose own module resolves them.
    pub elements_inherit: bool,
}

/// What holds when a key is not written.
#[derive(Debug)]
pub enum DefaultValue {
    /// It must be written.
    Required,
    Literal(ConfigValue),
    Absent,
    /// The inner table with its own defaults.
    Inner,
    /// Follows from other settings, as this text says.
    Derived(&'static str),
}

/// What may be written.
#[derive(Debug)]
pub enum ValueKind {
    Flag,
    /// A whole number, bounds inclusive.
    Count {
        min: u64,
        max: u64,
        /// The word for nothing set.
        unset: Option<&'static str>,
    },
    /// A time with its unit, bounds inclusive.
    Time {
        min: Duration,
        max: Duration,
        /// The kernel takes whole seconds only.
        whole_seconds: bool,
        /// The word for nothing set.
        unset: Option<&'static str>,
    },
    /// Bytes with their unit, bounds inclusive.
    Size {
        min: u64,
        max: u64,
        /// The word for nothing set.
        unset: Option<&'static str>,
    },
    /// Bits per second with their unit, bounds inclusive.
    Rate {
        min: u64,
        max: u64,
        /// The word for nothing set.
        unset: Option<&'static str>,
    },
    /// A share with its `%`, bounds inclusive, in parts per million; and the word for nothing set.
    Share(u64, u64, Option<&'static str>),
    /// One word of a closed list.
    Keyword(&'static [Keyword]),
    /// One or several words of a closed list, each once.
    KeywordList(&'static [Keyword]),
    /// One or several texts of a form, each once.
    Texts {
        /// What each must look like.
        form: TextFormat,
        /// The word for nothing set.
        unset: Option<&'static str>,
    },
    /// Text of a form.
    Text {
        /// What it must look like.
        form: TextFormat,
        /// The word for nothing set.
        unset: Option<&'static str>,
    },
    /// A list of texts of a form in their order, possibly repeated; a single one counts as a list.
    Lines {
        /// What each must look like.
        form: TextFormat,
        most: usize,
    },
    Mode,
    /// Listening addresses: one or a list; `":80"` stands for every address of both families.
    Listen,
    /// One address and port of this machine.
    Socket,
    /// One address without port, or a list.
    Addresses,
    /// The same, or a word.
    AddressesOr(&'static str),
    /// Networks: one or a list.
    Prefixes,
    /// A port or a range of ports.
    PortRange,
    /// A part of the day.
    DailyWindow,
    /// A server's address or name, and port.
    Server,
    /// HTTP statuses: `200`, `"200-299"`, or a list of them.
    Status,
    /// Paths of this machine: one or a list.
    Files,
    Table {
        table: &'static TableSchema,
        /// What may be written instead of it.
        short: TableShorthand,
        /// The word for none.
        unset: Option<&'static str>,
    },
    /// A list of tables.
    List {
        table: &'static TableSchema,
        /// What may be written instead of a table.
        short: TableShorthand,
        /// Elements over the whole file.
        most: usize,
    },
    /// A table of tables by name.
    Named {
        /// Of one of them.
        table: &'static TableSchema,
        /// What a name looks like: `Form::Name` or `Form::Domain`.
        form: TextFormat,
        most: usize,
    },
    /// Known, and refused for this reason.
    Refused(&'static str),
}

/// A word of a closed list.
#[derive(Debug)]
pub struct Keyword {
    pub name: &'static str,
    /// False: a word of ours that this build does not carry.
    pub available: bool,
}

/// What may be written instead of a table.
#[derive(Clone, Copy, Debug)]
pub enum TableShorthand {
    None,
    /// A value for this key.
    Key(&'static str),
    /// One of these words, which sets the key of the same name to `true`.
    Flags(&'static [&'static str]),
    /// `true`: the table with all defaults; `false`: the word for none.
    Switch,
}

/// What a text must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// A kebab-case name of ours.
    Name,
    /// A path of this machine.
    File,
    /// `stderr`, `stdout`, `off` or a path.
    Target,
    /// A network interface: 1–15 bytes, no blank, no `/` (Linux, dev_valid_name).
    Interface,
    /// A congestion control: 1–15 letters, digits, `_` or `-` (Linux, `TCP_CA_NAME_MAX`).
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
    /// An object identifier of SNMP: numbers with dots.
    Oid,
    /// The name of a header field that is not ours to write.
    FieldName,
    /// Visible text, blanks within it: the value of a field.
    VisibleText,
    /// A host, or every name below one (`HostPattern`).
    HostPattern,
    /// Whole labels of a host (`HostPart`).
    HostPart,
    /// A path, what begins so, or a glob (`PathPattern`).
    PathPattern,
    /// A header field, with its value or without (`Match::field`).
    Match,
    /// A header field and an expression for its value (`FieldPattern`).
    FieldPattern,
    /// A cookie, with its value or without (`Match::pair`).
    Cookie,
    /// A parameter, with its value or without (`Match::pair`).
    Pair,
    /// Numbers from one to another (`Range`).
    Range,
    /// A media type, or all that begin so.
    MediaType,
    /// A target with places to be filled (`rules::Template`).
    Template,
}

impl TableSchema {
    /// The key of this name and its position.
    pub fn find(&self, name: &str) -> Option<(usize, &'static KeySchema)> {
        self.keys.iter().enumerate().find(|(_, key)| key.name == name)
    }
}

impl KeySchema {
    /// A key that is neither inherited nor bound to a method.
    pub const fn new(
        name: &'static str,
        kind: ValueKind,
        default: DefaultValue,
        doc: &'static str,
    ) -> KeySchema {
        KeySchema {
            name,
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

    /// A known word that is refused, and why.
    pub const fn refused(name: &'static str, reason: &'static str) -> KeySchema {
        KeySchema::new(name, ValueKind::Refused(reason), DefaultValue::Absent, "")
    }

    pub const fn inherited(mut self) -> KeySchema {
        self.inherits = true;
        self
    }

    /// The same, for `http` alone.
    pub const fn http_only(mut self) -> KeySchema {
        self.http_only = true;
        self
    }

    /// The same, for `mac`, `nat` and `tunnel` alone.
    pub const fn packets_only(mut self) -> KeySchema {
        self.packets_only = true;
        self
    }

    /// The same, for `http` and `tcp` alone.
    pub const fn proxy_only(mut self) -> KeySchema {
        self.proxy_only = true;
        self
    }

    /// A list whose tables inherit from the table around them.
    pub const fn elements_inherit(mut self) -> KeySchema {
        self.elements_inherit = true;
        self
    }
}

impl ValueKind {
    /// A time between bounds, in milliseconds.
    pub const fn time(min: u64, max: u64) -> ValueKind {
        ValueKind::Time {
            min: Duration::from_millis(min),
            max: Duration::from_millis(max),
            whole_seconds: false,
            unset: None,
        }
    }

    /// A time between bounds, in milliseconds, or a word.
    pub const fn time_or_keyword(min: u64, max: u64, unset: &'static str) -> ValueKind {
        ValueKind::Time {
            min: Duration::from_millis(min),
            max: Duration::from_millis(max),
            whole_seconds: false,
            unset: Some(unset),
        }
    }

    /// Whole seconds between bounds.
    pub const fn seconds(min: u64, max: u64, unset: Option<&'static str>) -> ValueKind {
        ValueKind::Time {
            min: Duration::from_secs(min),
            max: Duration::from_secs(max),
            whole_seconds: true,
            unset,
        }
    }

    /// A number between bounds.
    pub const fn count(min: u64, max: u64) -> ValueKind {
        ValueKind::Count { min, max, unset: None }
    }

    /// A number between bounds, or a word.
    pub const fn count_or_keyword(min: u64, max: u64, unset: &'static str) -> ValueKind {
        ValueKind::Count { min, max, unset: Some(unset) }
    }

    pub const fn size(min: u64, max: u64) -> ValueKind {
        ValueKind::Size { min, max, unset: None }
    }

    /// A table that is there with its defaults when it is not written.
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

    /// The word for nothing set.
    pub const fn unset(word: &'static str) -> DefaultValue {
        DefaultValue::Literal(ConfigValue::Unset(word))
    }

    pub const fn text(text: &'static str) -> DefaultValue {
        DefaultValue::Literal(ConfigValue::Text(std::borrow::Cow::Borrowed(text)))
    }

    /// A word of the list.
    pub const fn keyword(word: &'static str) -> DefaultValue {
        DefaultValue::Literal(ConfigValue::Keyword(word))
    }
}

impl Keyword {
    pub const fn new(name: &'static str) -> Keyword {
        Keyword { name, available: true }
    }

    /// One that this build does not carry.
    pub const fn unavailable(name: &'static str) -> Keyword {
        Keyword { name, available: false }
    }
}
