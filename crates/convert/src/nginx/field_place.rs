//! The server in which a field or a redirect is written.

use std::collections::BTreeMap;

use super::variables::{self, fill, variable_names};

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
    /// Fields of answers that nginx hides, and some location of the service passes.
    pub passed_fields: &'p [&'static str],
    /// The values of variables in the rule that is written.
    pub values: &'p BTreeMap<String, String>,
}

impl FieldPlace<'_> {
    /// A field's value with our variables. The error names a variable without a counterpart.
    pub fn value(&self, text: &str) -> Result<String, String> {
        let text = fill(text, self.values);
        if self.real_ip && variable_names(&text).contains(&"remote_addr") {
            return Err("$remote_addr".to_owned());
        }
        variables::field_value(&text, self.tls, self.name)
    }
}
