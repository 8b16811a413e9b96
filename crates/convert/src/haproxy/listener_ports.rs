//! The ports that a frontend listens on, by which `dst_port` tells its listeners apart.

use std::collections::BTreeSet;

use crate::condition::RuleCondition;

use super::bind::BindLine;

/// The ports of a frontend's listeners with TLS and without.
#[derive(Clone, Debug, Default)]
pub struct ListenerPorts {
    tls: BTreeSet<u16>,
    plain: BTreeSet<u16>,
    /// A header of the PROXY protocol says another port.
    is_told: bool,
}

impl ListenerPorts {
    pub fn of(binds: &[BindLine]) -> ListenerPorts {
        let mut out = ListenerPorts::default();
        for bind in binds {
            let ports = if bind.tls { &mut out.tls } else { &mut out.plain };
            ports.extend(&bind.ports);
            out.is_told |= bind.header;
        }
        out
    }

    /// The condition that a client reached one of these ports; `None`: listeners of several ports would be told apart.
    pub fn condition(&self, ports: &[&str]) -> Option<RuleCondition> {
        let mut any = Vec::new();
        for port in ports {
            let port: u16 = port.parse().ok()?;
            let one = match (self.tls.contains(&port), self.plain.contains(&port)) {
                (false, false) => RuleCondition::Is(false),
                (true, false) if self.tls.len() == 1 => RuleCondition::Tls,
                (false, true) if self.plain.len() == 1 => RuleCondition::Tls.negate(),
                (true, true) if self.tls.len() == 1 && self.plain.len() == 1 => {
                    RuleCondition::Is(true)
                }
                _ => return None,
            };
            any.push(one);
        }
        let listens = !self.tls.is_empty() || !self.plain.is_empty();
        (listens && !self.is_told).then_some(RuleCondition::Any(any))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_tell_listeners_with_tls_from_those_without() {
        let ports = |tls: &[u16], plain: &[u16]| ListenerPorts {
            tls: tls.iter().copied().collect(),
            plain: plain.iter().copied().collect(),
            is_told: false,
        };
        let both = ports(&[443], &[80]);
        for (listeners, asked, expected) in [
            (&both, "443", Some(RuleCondition::Tls)),
            (&both, "80", Some(RuleCondition::Tls.negate())),
            (&both, "81", Some(RuleCondition::Is(false))),
            (&ports(&[], &[80]), "80", Some(RuleCondition::Tls.negate())),
            (&ports(&[], &[80, 81]), "80", None),
            (&ports(&[80], &[80]), "80", Some(RuleCondition::Is(true))),
            (&both, "80:90", None),
            (&ListenerPorts::default(), "80", None),
            (&ListenerPorts { is_told: true, ..both.clone() }, "80", None),
        ] {
            let found = listeners.condition(&[asked]);
            assert_eq!(found, expected.map(|one| RuleCondition::Any(vec![one])), "{asked}");
        }
    }
}
