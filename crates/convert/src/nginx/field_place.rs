//! The server in which a field or a redirect is written.

use std::collections::BTreeMap;

/// What variables of a server stand for.
#[derive(Clone, Copy, Debug)]
pub struct FieldPlace<'p> {
    /// The service speaks TLS.
    pub tls: bool,
    /// The server's first name.
    pub name: Option<&'p str>,
    /// Its listeners have the ports that its scheme has without saying so.
    pub usual_port: bool,
    /// `$remote_addr` comes from a field of the request.
    pub real_ip: bool,
    /// The values of variables in the rule that is written.
    pub values: &'p BTreeMap<String, String>,
}
