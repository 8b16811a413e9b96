//! Changes over the API where a tool owns the file: saved in an overlay file beside it, and merged into what the tool
//! writes. A change stands until the file's own value for the same key changes. It activates nothing.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use model::config::patch::{ConfigObject, apply_patch};
use model::config::toml_tree::{merge_three_way, parse_tree};
use model::config::{WriteBack, load};
use serde::{Deserialize, Serialize};

use crate::state::origin::ChangeOrigin;
use crate::util::atomic_file;
use crate::util::event::EventLog;

/// Bytes of the file: two configurations, as JSON writes them.
const BYTES: u64 = 64 << 20;
/// The format that this version reads. Other versions are rejected.
const VERSION: u32 = 1;
/// Places that are named when several no longer stand.
const NAMED: usize = 8;

/// A configuration that replaces a file's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConfigOverlay {
    version: u32,
    /// The file's text that it was made for.
    pub base: String,
    pub text: String,
    /// Who changed it last.
    pub origin: ChangeOrigin,
    pub at: SystemTime,
}

/// A file's text with its overlay applied.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OverlaidText {
    text: String,
    /// Keys that the file has changed since; the overlay no longer applies to them.
    given_up: Vec<String>,
}

impl ConfigOverlay {
    pub fn new(base: &str, text: &str, origin: &ChangeOrigin) -> ConfigOverlay {
        let base = base.to_owned();
        let text = text.to_owned();
        ConfigOverlay {
            version: VERSION,
            base,
            text,
            origin: origin.clone(),
            at: SystemTime::now(),
        }
    }

    /// Reads the overlay below `state`; `None`: there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(state: &Path) -> io::Result<Option<ConfigOverlay>> {
        let Some(json) = atomic_file::read_own(&place(state), BYTES)? else { return Ok(None) };
        let cover: ConfigOverlay = serde_json::from_str(&json).map_err(io::Error::other)?;
        if cover.version != VERSION {
            return Err(io::Error::other("written by another version"));
        }
        Ok(Some(cover))
    }

    /// Stores the overlay.
    ///
    /// # Errors
    /// The write failed; the previous overlay is unchanged.
    pub fn write(&self, state: &Path) -> io::Result<()> {
        let json = serde_json::to_vec(self).map_err(io::Error::other)?;
        files::create::make_dir(state, 0o750)?;
        atomic_file::replace(&place(state), &json)
    }

    /// Removes the overlay; returns whether there was one.
    ///
    /// # Errors
    /// The disk does not do it.
    pub fn remove(state: &Path) -> io::Result<bool> {
        match std::fs::remove_file(place(state)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Over this text of the file.
    fn apply_to(&self, file: &str) -> Result<OverlaidText, String> {
        if file == self.base {
            return Ok(OverlaidText { text: self.text.clone(), given_up: Vec::new() });
        }
        let carried =
            merge_three_way(&parse_tree(&self.base)?, &parse_tree(&self.text)?, &parse_tree(file)?);
        let text = apply_patch(file, &ConfigObject::Root, &carried.patch)
            .map_err(|error| error.to_string())?;
        Ok(OverlaidText { text, given_up: carried.conflicts })
    }
}

/// The text to activate for a file: its own text, or the overlay's text if the file's settings require it.
pub fn apply_overlay(text: &str, file: &str, events: &EventLog) -> String {
    // The caller activates the text and reports its mistakes.
    let Ok(checked) = load(text, file) else { return text.to_owned() };
    let control = &checked.config.global.control;
    if control.write_back != WriteBack::Overlay {
        return text.to_owned();
    }
    let refused = |why: String| {
        let message = format!("what was changed over {file} is left out: {why}");
        events.warn("overlay-refused", message);
        text.to_owned()
    };
    let cover = match ConfigOverlay::read(&control.state) {
        Ok(Some(cover)) => cover,
        Ok(None) => return text.to_owned(),
        Err(error) => {
            atomic_file::set_aside(&place(&control.state), &error, events);
            return refused(error.to_string());
        }
    };
    let covered = match cover.apply_to(text) {
        Ok(covered) => covered,
        Err(why) => return refused(why),
    };
    if let Err(findings) = load(&covered.text, file) {
        return refused(format!("with it there are mistakes: {findings}"));
    }
    if !covered.given_up.is_empty() {
        let places = &covered.given_up;
        let all = covered.given_up.len();
        let named: Vec<&str> = places.iter().take(NAMED).map(String::as_str).collect();
        let more = if all > NAMED { format!(" and {} more", all - NAMED) } else { String::new() };
        let message =
            format!("{file} has its own word now for {}{more}: it stands", named.join(", "));
        events.warn("overlay-ended", message);
    }
    covered.text
}

fn place(state: &Path) -> std::path::PathBuf {
    state.join("overlay.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::origin::ChangeTrigger;
    use crate::util::scratch_dir::Scratch;

    fn text(state: &Path, more: &str) -> String {
        format!(
            "[global]\ncontrol = {{ state = \"{}\", write-back = \"overlay\" }}\n[service.s]\nlisten = \
             \"127.0.0.1:1\"\nforward = \"http\"\npool = \"p\"\n[pool.p]\nservers = [\"10.0.0.1:1\"]\n{more}",
            state.display()
        )
    }

    #[test]
    fn changes_stand_until_the_file_has_another_word_for_the_same() {
        let scratch = Scratch::new("cover").unwrap();
        let state = scratch.path();
        let events = EventLog::quiet();
        let base = text(state, "");
        assert_eq!(apply_overlay(&base, "f", &events), base, "nothing is kept");
        let ours =
            base.replace("\n[pool.p]", "\ntimeout.idle = \"9s\"\n[pool.p]\nbalance = \"random\"");
        let by = ChangeOrigin::new("tester", ChangeTrigger::Api);
        ConfigOverlay::new(&base, &ours, &by).write(state).unwrap();
        assert_eq!(apply_overlay(&base, "f", &events), ours);
        // The tool writes something else of the pool, then of the same key.
        let other = text(state, "# by a tool\ntimeout.connect = \"2s\"\n");
        let both = apply_overlay(&other, "f", &events);
        assert!(both.contains("# by a tool") && both.contains("balance = \"random\""), "{both}");
        assert!(both.contains("9s") && load(&both, "f").is_ok(), "{both}");
        assert!(events.recent().is_empty());
        let same = text(state, "balance = \"source\"\n");
        let got = apply_overlay(&same, "f", &events);
        assert!(
            got.contains("\"source\"") && got.contains("9s") && !got.contains("random"),
            "{got}"
        );
        assert!(events.recent()[0].text.contains("pool.p.balance"));
    }

    #[test]
    fn what_does_not_fit_any_more_is_left_out_and_reported() {
        let scratch = Scratch::new("cover").unwrap();
        let state = scratch.path();
        let events = EventLog::quiet();
        let base = text(state, "");
        let ours =
            base.replace("pool = \"p\"", "pool = \"q\"") + "[pool.q]\nservers = [\"10.0.0.2:1\"]\n";
        let by = ChangeOrigin::new("tester", ChangeTrigger::Api);
        ConfigOverlay::new(&base, &ours, &by).write(state).unwrap();
        // The file takes the name of the pool for something that cannot be.
        let other = base.replace("[pool.p]", "[pool.q]").replace("\"p\"", "\"q\"");
        let got = apply_overlay(&other, "f", &events);
        assert!(load(&got, "f").is_ok());
        std::fs::write(state.join("overlay.json"), "{").unwrap();
        assert_eq!(apply_overlay(&base, "f", &events), base);
        assert_eq!(events.recent().last().unwrap().kind, "overlay-refused");
        let off = base.replace("\"overlay\"", "\"off\"");
        assert_eq!(apply_overlay(&off, "f", &events), off);
        assert!(!ConfigOverlay::remove(state).unwrap(), "what cannot be read was set aside");
        ConfigOverlay::new(&base, &ours, &by).write(state).unwrap();
        assert!(ConfigOverlay::remove(state).unwrap() && !ConfigOverlay::remove(state).unwrap());
        assert_eq!(apply_overlay("nonsense", "f", &events), "nonsense");
    }
}
