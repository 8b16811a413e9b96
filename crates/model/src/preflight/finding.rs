//! Preflight findings: good or wrong, with the commands that fix them.
//!
//! The checks write the sentences.

use serde::Serialize;

/// A preflight check. The names are those of `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreflightCheck {
    /// The service's address is assigned to the server, on a link that answers no ARP for it.
    ServiceAddress,
    /// Only the address's own route covers it.
    ExtraRoute,
    /// The server has a route back to clients.
    ReturnRoute,
    /// The server answers no ARP request for the service's address (arp_ignore).
    ArpIgnore,
    /// The server does not announce the service's address by ARP (arp_announce).
    ArpAnnounce,
    /// Packets from clients are not dropped for their source (rp_filter).
    ReversePath,
    /// A decapsulator exists for the balancer's encapsulation.
    Decapsulation,
    /// Segments leave room for the outer headers.
    SegmentSize,
}

impl PreflightCheck {
    /// The name in reports.
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

/// Whether the state is as required.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreflightResult {
    Good,
    /// Traffic will fail, or the network is disturbed.
    Wrong,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PreflightFinding {
    pub check: PreflightCheck,
    /// Whether the state is as required.
    pub verdict: PreflightResult,
    /// The address or link checked.
    pub about: String,
    pub found: String,
    /// Why that is wrong; empty if good.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Commands that fix it, for a root shell; empty if good.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

impl PreflightFinding {
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
