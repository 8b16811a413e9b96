//! What a heartbeat tells people: events with their sentences. It decides nothing.

use ha::beat::{Defect, Score};
use ha::hearing::Change;
use model::config::{BeatPath, Heartbeat};

use super::targets::Told;
use crate::event::{Events, Level};

/// Both members, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// The other one's name.
    pub peer: String,
    /// How many targets each reaches.
    pub standing: String,
}

/// A path as people write it.
pub fn path(path: &BeatPath) -> String {
    match &path.interface {
        Some(interface) => format!("{} to {} ({interface})", path.local, path.peer),
        None => format!("{} to {}", path.local, path.peer),
    }
}

fn about(config: &Heartbeat) -> Vec<(&'static str, String)> {
    vec![("peer", config.peer.clone())]
}

fn about_path(config: &Heartbeat, at: usize) -> (String, Vec<(&'static str, String)>) {
    let mut about = about(config);
    let name = config.paths.get(at).map(path).unwrap_or_default();
    about.push(("path", name.clone()));
    (name, about)
}

/// The other member, or one path to it, is heard or not.
pub fn change(config: &Heartbeat, change: Change, product: Option<&str>, events: &Events) {
    let peer = &config.peer;
    let time = config.timeout.as_millis();
    match change {
        Change::PathUp(at) => {
            let (name, about) = about_path(config, at);
            let text = format!("heartbeat {peer}: the path {name} carries beats");
            events.tell(Level::Info, "path-up", text, &about);
        }
        Change::PathDown(at) => {
            let (name, about) = about_path(config, at);
            let text = format!("heartbeat {peer}: nothing came by the path {name} for {time} ms");
            events.tell(Level::Warning, "path-down", text, &about);
        }
        Change::Heard => {
            let version = product.unwrap_or("unknown");
            let text = format!("heartbeat {peer}: it is heard; its version is {version}");
            events.tell(Level::Info, "peer-heard", text, &about(config));
        }
        Change::Renewed => {
            let text = format!("heartbeat {peer}: it began anew");
            events.tell(Level::Info, "peer-heard", text, &about(config));
        }
        Change::Lost => {
            let text = format!(
                "heartbeat {peer}: it is heard by no path any more; advertisements alone say who is active"
            );
            events.tell(Level::Warning, "peer-lost", text, &about(config));
        }
    }
}

/// What is wrong with packets, and what to do.
pub const fn remedy(defect: Defect) -> &'static str {
    match defect {
        Defect::Key => {
            "its key has a number that is not in our file: the same file on both members"
        }
        Defect::Signature => {
            "it is signed with another secret under the same number: the same file on both members"
        }
        Defect::Version => {
            "the other member's version is too new for this one to read: update this one"
        }
        Defect::Member => {
            "it is of another member: the tables' names and `name` do not fit each other"
        }
        Defect::Reflected => "it is our own: `local` and `peer` lead back to this machine",
        Defect::Replayed => "it was heard before: a copy, or somebody repeats what was said",
        Defect::Short | Defect::Long | Defect::Foreign => {
            "it is no heartbeat: something else uses this port"
        }
        Defect::Fields => "its fields cannot be read although its signature is right",
    }
}

/// A packet was refused.
pub fn refused(config: &Heartbeat, at: usize, defect: Defect, events: &Events) {
    let (name, mut about) = about_path(config, at);
    let text = format!(
        "heartbeat {}: a packet by the path {name} is refused: {defect}: {}",
        config.peer,
        remedy(defect)
    );
    about.push(("why", defect.name().to_owned()));
    events.tell(Level::Warning, "heartbeat-refused", text, &about);
}

/// The keys cannot be had.
pub fn trouble(config: &Heartbeat, why: &str, events: &Events) {
    let text = format!("heartbeat {}: {why}", config.peer);
    events.tell(Level::Error, "heartbeat-trouble", text, &about(config));
}

/// They can again.
pub fn mended(config: &Heartbeat, events: &Events) {
    let text = format!("heartbeat {}: {} is in force", config.peer, config.secret.display());
    events.tell(Level::Info, "heartbeat-trouble", text, &about(config));
}

/// Both members' configurations differ, or do not any more.
pub fn drift(config: &Heartbeat, parts: Option<&str>, events: &Events) {
    let Heartbeat { peer, name, .. } = config;
    match parts {
        Some(parts) => {
            let text = format!("heartbeat {peer}: {name} and {peer} do not have the same {parts}");
            events.tell(Level::Warning, "config-drift", text, &about(config));
        }
        None => {
            let text = format!("heartbeat {peer}: {name} and {peer} are configured alike");
            events.tell(Level::Info, "config-agrees", text, &about(config));
        }
    }
}

/// A target is reached, or not.
pub fn target(config: &Heartbeat, told: &Told, events: &Events) {
    let mut about = about(config);
    about.push(("target", told.at.to_string()));
    let peer = &config.peer;
    let (level, kind, text) = match (told.reached, told.first) {
        // That it is as it should be is no news.
        (true, true) => return,
        (true, false) => (Level::Info, "reach-back", format!("{} is reached again", told.at)),
        (false, _) => (Level::Warning, "reach-lost", format!("{} does not answer", told.at)),
    };
    events.tell(level, kind, format!("heartbeat {peer}: {text}"), &about);
}

/// One member reaches more, or not any more.
pub fn standing(config: &Heartbeat, behind: bool, words: &str, events: &Events) {
    let Heartbeat { peer, .. } = config;
    let (level, kind, follows) = match behind {
        true => (Level::Warning, "reach-behind", "it is to have the addresses"),
        false => (Level::Info, "reach-level", "priorities decide"),
    };
    events.tell(level, kind, format!("heartbeat {peer}: {words}; {follows}"), &about(config));
}

/// How many targets each reaches.
pub fn reaches(peer: &str, ours: Option<Score>, theirs: Option<Score>) -> String {
    let score = |score: Option<Score>| match score {
        Some(Score { reached, of }) => format!("{reached} of {of} targets"),
        None => "an unknown number of targets".to_owned(),
    };
    format!("{peer} reaches {}, this member {}", score(theirs), score(ours))
}
