//! What an examination of a server says: good or wrong, with the commands that mend it.
//!
//! The sentences are made by the checks.

use serde::Serialize;

/// What was looked at. The names are those of `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreflightCheck {
    /// The service's address is the server's own, on a link that answers no question about it.
    ServiceAddress,
    /// No route but the address' own covers it.
    ExtraRoute,
    /// There is a way back to clients.
    ReturnRoute,
    /// The server answers no ARP question for the service's address (arp_ignore).
    ArpIgnore,
    /// The server does not tell the service's address as its own (arp_announce).
    ArpAnnounce,
    /// Packets from clients are not dropped for where they come from (rp_filter).
    ReversePath,
    /// Something unpacks what the balancer encapsulates.
    Decapsulation,
    /// Segments leave room for the outer headers.
    SegmentSize,
}

impl PreflightCheck {
    /// As it is shown.
    pub fn name(self) -> &'static str {
        match self {
            PreflightCheck::ServiceAddress => "service-address",
            PreflightCheck::ExtraRoute => "extra-route",
            PreflightCheck::ReturnRoute => "return-route",
            PreflightCheck::ArpIgnore => "arp-ignore",
            PreflightCheck::ArpAnnounce => "arp-announce",
            PreflightCheck::ReversePath => "reverse-path",
            PreflightCheck::Decapsulation => "decapsulation",
            PreflightCheck::SegmentSize => "segment-size",
        }
    }
}

/// Whether it is as it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreflightResult {
    /// As it must be.
    Good,
    /// Traffic will fail, or the network is disturbed.
    Wrong,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PreflightFinding {
    /// What.
    pub check: PreflightCheck,
    /// Whether it is as it must be.
    pub verdict: PreflightResult,
    /// The address or link that it is about.
    pub about: String,
    /// What is so.
    pub found: String,
    /// Why that is wrong; empty when it is good.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What mends it, for a root shell; empty when it is good.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

impl PreflightFinding {
    /// It is as it must be.
    pub(super) fn good(
        check: PreflightCheck,
        about: impl ToString,
        found: impl Into<String>,
    ) -> PreflightFinding {
        PreflightFinding {
            check,
            verdict: PreflightResult::Good,
            about: about.to_string(),
            found: found.into(),
            why: String::new(),
            commands: Vec::new(),
        }
    }

    pub(super) fn wrong(
        check: PreflightCheck,
        about: impl ToString,
        found: impl Into<String>,
        why: &str,
        commands: Vec<String>,
    ) -> PreflightFinding {
        PreflightFinding {
            verdict: PreflightResult::Wrong,
            why: why.to_owned(),
            commands,
            ..PreflightFinding::good(check, about, found)
        }
    }
}
