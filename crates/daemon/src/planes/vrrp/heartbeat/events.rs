//! The events of a heartbeat, with their sentences.

use ha::heartbeat::{HeartbeatDefect, ReachScore};
use ha::peer_link::PeerLinkChange;
use model::config::{EventLevel, HeartbeatConfig, HeartbeatPathConfig};

use super::reach_targets::ReachChange;
use crate::util::event::{EventFields, EventLog};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerSummary {
    pub peer: String,
    /// How many targets each reaches.
    pub reach: String,
}

/// A path as people write it.
pub fn path_text(path: &HeartbeatPathConfig) -> String {
    match &path.interface {
        Some(interface) => format!("{} to {} ({interface})", path.local, path.peer),
        None => format!("{} to {}", path.local, path.peer),
    }
}

fn about(config: &HeartbeatConfig) -> EventFields {
    EventFields::from([("peer", config.peer.clone())])
}

fn about_path(config: &HeartbeatConfig, at: usize) -> (String, EventFields) {
    let mut about = about(config);
    let name = config.paths.get(at).map(path_text).unwrap_or_default();
    about.insert("path", name.clone());
    (name, about)
}

/// Logs that heartbeats of the other member, or over one path, arrive or no longer arrive.
pub fn report_change(
    config: &HeartbeatConfig,
    change: PeerLinkChange,
    product: Option<&str>,
    events: &EventLog,
) {
    let peer = &config.peer;
    let time = config.timeout.as_millis();
    match change {
        PeerLinkChange::PathUp(at) => {
            let (name, about) = about_path(config, at);
            let text = format!("heartbeat {peer}: the path {name} carries beats");
            events.emit(EventLevel::Info, "path-up", text, about);
        }
        PeerLinkChange::PathDown(at) => {
            let (name, about) = about_path(config, at);
            let text = format!("heartbeat {peer}: nothing came by the path {name} for {time} ms");
            events.emit(EventLevel::Warning, "path-down", text, about);
        }
        PeerLinkChange::PeerUp => {
            let version = product.unwrap_or("unknown");
            let text = format!("heartbeat {peer}: it is heard; its version is {version}");
            events.emit(EventLevel::Info, "peer-heard", text, about(config));
        }
        PeerLinkChange::PeerRestarted => {
            let text = format!("heartbeat {peer}: it began anew");
            events.emit(EventLevel::Info, "peer-heard", text, about(config));
        }
        PeerLinkChange::PeerDown => {
            let text = format!(
                "heartbeat {peer}: it is heard by no path any more; advertisements alone say who is active"
            );
            events.emit(EventLevel::Warning, "peer-lost", text, about(config));
        }
    }
}

/// The cause of rejected packets, and the operator's remedy.
pub const fn defect_remedy(defect: HeartbeatDefect) -> &'static str {
    match defect {
        HeartbeatDefect::Key => {
            "its key has a number that is not in our file: the same file on both members"
        }
        HeartbeatDefect::Signature => {
            "it is signed with another secret under the same number: the same file on both members"
        }
        HeartbeatDefect::Version => {
            "the other member's version is too new for this one to read: update this one"
        }
        HeartbeatDefect::Member => {
            "it is of another member: the tables' names and `name` do not fit each other"
        }
        HeartbeatDefect::Reflected => "it is our own: `local` and `peer` lead back to this machine",
        HeartbeatDefect::Replayed => {
            "it was heard before: a copy, or somebody repeats what was said"
        }
        HeartbeatDefect::Short | HeartbeatDefect::Long | HeartbeatDefect::Foreign => {
            "it is no heartbeat: something else uses this port"
        }
        HeartbeatDefect::Fields => "its fields cannot be read although its signature is right",
    }
}

/// A packet was refused.
pub fn report_refused(
    config: &HeartbeatConfig,
    at: usize,
    defect: HeartbeatDefect,
    events: &EventLog,
) {
    let (name, mut about) = about_path(config, at);
    let text = format!(
        "heartbeat {}: a packet by the path {name} is refused: {defect}: {}",
        config.peer,
        defect_remedy(defect)
    );
    about.insert("why", defect.name().to_owned());
    events.emit(EventLevel::Warning, "heartbeat-refused", text, about);
}

/// The keys cannot be had.
pub fn report_key_error(config: &HeartbeatConfig, why: &str, events: &EventLog) {
    let text = format!("heartbeat {}: {why}", config.peer);
    events.emit(EventLevel::Error, "heartbeat-trouble", text, about(config));
}

pub fn report_key_recovery(config: &HeartbeatConfig, events: &EventLog) {
    let text = format!("heartbeat {}: {} is active", config.peer, config.secret.display());
    events.emit(EventLevel::Info, "heartbeat-trouble", text, about(config));
}

/// Logs that both members' configurations differ, or that they no longer differ.
pub fn report_drift(config: &HeartbeatConfig, parts: Option<&str>, events: &EventLog) {
    let HeartbeatConfig { peer, name, .. } = config;
    match parts {
        Some(parts) => {
            let text = format!("heartbeat {peer}: {name} and {peer} do not have the same {parts}");
            events.emit(EventLevel::Warning, "config-drift", text, about(config));
        }
        None => {
            let text = format!("heartbeat {peer}: {name} and {peer} are configured alike");
            events.emit(EventLevel::Info, "config-agrees", text, about(config));
        }
    }
}

/// A target is reached, or not.
pub fn report_target(config: &HeartbeatConfig, told: &ReachChange, events: &EventLog) {
    let mut about = about(config);
    about.insert("target", told.endpoint.to_string());
    let peer = &config.peer;
    let (level, kind, text) = match (told.reached, told.is_first) {
        // That it is as it should be is no news.
        (true, true) => return,
        (true, false) => {
            (EventLevel::Info, "reach-back", format!("{} is reached again", told.endpoint))
        }
        (false, _) => {
            (EventLevel::Warning, "reach-lost", format!("{} does not answer", told.endpoint))
        }
    };
    events.emit(level, kind, format!("heartbeat {peer}: {text}"), about);
}

/// Logs that one member reaches more targets, or that both reach equally many.
pub fn report_reach(config: &HeartbeatConfig, behind: bool, words: &str, events: &EventLog) {
    let HeartbeatConfig { peer, .. } = config;
    let (level, kind, follows) = match behind {
        true => (EventLevel::Warning, "reach-behind", "it is to have the addresses"),
        false => (EventLevel::Info, "reach-equal", "priorities decide"),
    };
    events.emit(level, kind, format!("heartbeat {peer}: {words}; {follows}"), about(config));
}

/// How many targets each reaches.
pub fn reach_text(peer: &str, ours: Option<ReachScore>, theirs: Option<ReachScore>) -> String {
    let score = |score: Option<ReachScore>| match score {
        Some(ReachScore { reached, total: of }) => format!("{reached} of {of} targets"),
        None => "an unknown number of targets".to_owned(),
    };
    format!("{peer} reaches {}, this member {}", score(theirs), score(ours))
}
