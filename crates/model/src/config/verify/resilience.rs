//! Judges how a pool stands by its requests: times that exceed their own limit, and an ejection that never ejects.

use super::super::finding::{Sink, Trouble};
use super::super::section::Section;

/// Judge a pool in force at `path`.
pub fn verify(pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    if let Some(retry) = pool.table("retry") {
        ordered(retry, ("back-off", "back-off-most"), &format!("{path}.retry"), sink);
        if retry.wrote("on") && pool.count::<u64>("retries") == Some(0) {
            let message = "`retry.on` has no effect: `retries = 0` allows no further attempt";
            sink.warning(retry.place_of("on"), &format!("{path}.retry.on"), Trouble::new(message));
        }
    }
    if let Some(eject) = pool.table("eject") {
        ordered(eject, ("time", "most"), &format!("{path}.eject"), sink);
        allows(eject, pool, path, sink);
    }
}

/// The first time is at most the second.
fn ordered(section: &Section, (first, most): (&str, &str), path: &str, sink: &mut Sink<'_, '_>) {
    let (Some(short), Some(long)) = (section.time(first), section.time(most)) else { return };
    if short > long && (section.wrote(first) || section.wrote(most)) {
        let key = if section.wrote(most) { most } else { first };
        let message = format!("`{first}` is longer than `{most}`, which is the longest");
        let trouble = Trouble::new(message).expected(format!("`{first}` of at most `{most}`"));
        sink.error(section.place_of(key), &format!("{path}.{key}"), trouble);
    }
}

/// A share that is less than one server was meant otherwise, if it was written.
fn allows(eject: &Section, pool: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let servers = pool.list("servers").len() as u64;
    let Some(share) = eject.count::<u64>("share").filter(|_| eject.wrote("share")) else { return };
    if share > 0 && servers > 1 && servers * share < 100 {
        let message =
            format!("{share} % of {servers} servers is less than one: none is ever put out");
        let least = format!("share = {}", 100_u64.div_ceil(servers));
        let trouble = Trouble::new(message).suggest(Some(least));
        sink.warning(eject.place_of("share"), &format!("{path}.eject.share"), trouble);
    }
}
