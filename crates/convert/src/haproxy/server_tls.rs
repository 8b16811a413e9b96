//! TLS towards a server and its health check, from the keywords of its `server` line.

use crate::value::{self, KeyValue};

/// The TLS keywords of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerTls {
    /// Connections use TLS: `ssl`.
    pub is_on: bool,
    /// The keys of a `tls` table of a pool. They apply only with `ssl`, and to checks with `check-ssl`.
    keys: Vec<KeyValue>,
    /// Whether checks use TLS: `check-ssl` or `no-check-ssl`. `None`: as connections do.
    pub checks: Option<bool>,
    /// The name that is asked for, where it is fixed: `sni`.
    pub asked_name: Option<String>,
    /// The name that the certificate must have: `verifyhost`.
    pub verified_name: Option<String>,
    /// The name that checks ask for: `check-sni`.
    pub check_name: Option<String>,
}

/// Whether one name can be asked for and verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameAgreement {
    Agreed,
    /// Another name is verified than the one that is asked for.
    Contrary,
}

impl ServerTls {
    /// Makes one name of that which is asked for and that which is verified.
    pub fn settle_name(&mut self) -> NameAgreement {
        let is_verified = !self.is_unverified();
        let verified = self.verified_name.take().filter(|_| is_verified);
        let asked = self.asked_name.take();
        let is_contrary = asked.is_some() && verified.is_some() && asked != verified;
        if let Some(name) = asked.or(verified) {
            self.set("name", &name);
        }
        match is_contrary && self.is_on {
            true => NameAgreement::Contrary,
            false => NameAgreement::Agreed,
        }
    }

    fn is_unverified(&self) -> bool {
        self.keys.contains(&KeyValue::new("verify", value::quote("off")))
    }

    /// Sets a key and replaces an earlier value.
    pub fn set(&mut self, key: &'static str, text: &str) {
        self.keys.retain(|known| known.key != key);
        self.keys.push(KeyValue::new(key, value::quote(text)));
    }

    fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|one| one.key == key)
    }

    /// Takes out the authorities of certificates that are not verified.
    fn drop_unused(&self, keys: &mut Vec<KeyValue>) {
        if self.keys.contains(&KeyValue::new("verify", value::quote("off"))) {
            keys.retain(|one| !["ca", "crl"].contains(&one.key));
        }
    }

    /// Whether only the authority of a certificate is verified in HAProxy, since no name is written.
    pub fn verifies_no_name(&self) -> bool {
        let off = KeyValue::new("verify", value::quote("off"));
        self.is_on && !self.has("name") && !self.keys.contains(&off)
    }

    /// Removes a name that is the server's own, which is asked for anyway.
    pub fn remove_own_name(&mut self, host: &str) {
        let own = KeyValue::new("name", value::quote(host));
        self.keys.retain(|one| *one != own);
    }

    /// The `tls` table of the pool. `None` without TLS. Certificates are verified unless a keyword says otherwise.
    pub fn pool_keys(&self) -> Option<Vec<KeyValue>> {
        let mut keys = self.keys.clone();
        if !self.has("verify") {
            keys.insert(0, KeyValue::new("verify", value::quote("on")));
        }
        self.drop_unused(&mut keys);
        self.is_on.then_some(keys)
    }

    /// The `tls` key of the probe. `None`: the probe has the TLS of its pool, or none at another port.
    pub fn probe_value(&self, is_own_port: bool) -> Option<String> {
        match self.checks {
            Some(false) if self.is_on && is_own_port => Some(value::quote("off")),
            Some(false) => None,
            Some(true) if self.is_on && is_own_port && self.check_name.is_none() => None,
            None if !(self.is_on && is_own_port && self.check_name.is_some()) => None,
            _ => Some(self.explicit_probe_value()),
        }
    }

    /// TLS of a probe with all keys of the server.
    pub fn explicit_probe_value(&self) -> String {
        let mut keys: Vec<KeyValue> = self.keys.clone();
        self.drop_unused(&mut keys);
        keys.retain(|one| one.key != "verify");
        let off = KeyValue::new("verify", value::quote("off"));
        let verifies = !self.keys.contains(&off);
        keys.insert(0, KeyValue::new("verify", verifies.to_string()));
        if let Some(name) = &self.check_name {
            keys.retain(|one| one.key != "name");
            keys.push(KeyValue::new("name", value::quote(name)));
        }
        value::table(&keys)
    }
}

/// The server name for SNI, if the expression is a constant.
pub fn fixed_sni(sni: &str) -> Option<&str> {
    sni.strip_prefix("str(").and_then(|name| name.strip_suffix(')'))
}
