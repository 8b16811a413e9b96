//! What is known of a server, and what it comes to: file, operator, name, agent and health, in that order of rank.
//! Pure.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::calendar::Civil;
use model::config::{Admin, Host, Initial, Pool, Scheduled, Server, ServerAddress, Weight};
use model::id::{PoolId, ServerId};
use model::schedule;
use model::snapshot::ServerState;

use crate::control::order::Verdict;
use crate::control::origin::Origin;
use crate::control::picture::{
    Ejected, Hand, Judged, Judgement, Maintain, Quiesce, Resolved, ServerFacts, Word,
};
use crate::control::word::ServerWord;
use crate::wall_clock::Step;

/// A server that was not there before.
pub fn new(
    id: ServerId,
    pool_id: PoolId,
    pool: &Pool,
    config: &Arc<Server>,
    now: SystemTime,
) -> ServerFacts {
    let resolved = match &config.address.host {
        Host::Ip(ip) => Resolved::At((*ip, config.address.port).into()),
        Host::Name(_) => Resolved::NotYet,
    };
    let mut facts = ServerFacts {
        id,
        pool: pool_id,
        pool_name: pool.name.clone(),
        config: Arc::clone(config),
        resolved,
        judged: initial(pool, now),
        ejected: None,
        agent: None,
        hand: Hand::default(),
        clock: None,
        clock_keeps: None,
        keeps: None,
        state: ServerState::Unknown,
        reason: String::new(),
        since: now,
        weight: config.weight,
        share: None,
    };
    settle(&mut facts, now);
    facts.since = now;
    facts
}

/// The same server under a new configuration. A word of an operator ends where the file's own word changed;
/// evidence of a probe ends with the probe.
pub fn reconfigure(
    old: &ServerFacts,
    pool: &Pool,
    config: &Arc<Server>,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = old.clone();
    let probed_before = old.config.probe.is_some();
    facts.config = Arc::clone(config);
    facts.hand.admin.take_if(|word| word.over != config.admin);
    facts.hand.weight.take_if(|word| word.over != config.weight);
    let untested = config.probe.is_none() && probed_before && old.judged.health != Judgement::Up;
    if untested || (!facts.judged.evidence && facts.judged.health != health(pool.initial)) {
        facts.judged = initial(pool, now);
    }
    settle(&mut facts, now);
    facts
}

/// After an operator's word.
pub fn told(old: &ServerFacts, word: ServerWord, by: Origin, now: SystemTime) -> ServerFacts {
    let mut facts = old.clone();
    let admin = |value| said(value, old.config.admin, &by, now);
    match word {
        ServerWord::Enable => {
            facts.hand.admin = admin(Admin::Enabled);
            facts.hand.quiesce = None;
            facts.hand.maintain = None;
            facts.hand.despite = facts.clock.is_some();
        }
        ServerWord::Drain => {
            facts.hand.admin = admin(Admin::Drain);
            facts.hand.quiesce = None;
        }
        ServerWord::Disable | ServerWord::Cut => {
            facts.hand.admin = admin(Admin::Disabled);
            facts.hand.quiesce = None;
        }
        ServerWord::Quiesce(limit) => {
            // The last order counts: one that drained it, or took it out, is over.
            facts.hand.admin = admin(Admin::Enabled);
            facts.hand.quiesce = Some(Quiesce { until: now + limit, by, at: now });
        }
        ServerWord::Maintain { from, until, reason } => {
            let from = from.unwrap_or(now);
            facts.hand.maintain = Some(Maintain { from, until, reason, by, at: now });
        }
        ServerWord::Weight(weight) => {
            facts.hand.weight = said(weight, old.config.weight, &by, now);
        }
        ServerWord::Add { .. } | ServerWord::Remove => {}
    }
    settle(&mut facts, now);
    facts
}

/// After time has passed: windows open and close, a quiesce becomes a drain. `None`: nothing of that.
pub fn ticked(old: &ServerFacts, now: SystemTime, local_seconds: i64) -> Option<ServerFacts> {
    let scheduled = !old.config.schedule.is_empty() || old.clock.is_some();
    if old.hand.quiesce.is_none() && old.hand.maintain.is_none() && !scheduled {
        return None;
    }
    let mut facts = old.clone();
    facts.clock = schedule::wanted(&old.config.schedule, local_seconds).copied();
    facts.clock_keeps = facts.clock.and_then(|rule| kept_by_clock(&rule, now, local_seconds));
    if facts.clock != old.clock {
        // At a start the clock's word is read again, and what was said against it stands.
        facts.hand.despite &= old.clock.is_none() && facts.clock.is_some();
    }
    facts.hand.maintain.take_if(|window| window.over(now));
    end_quiesce(&mut facts, now, |quiesce| quiesce.until <= now);
    settle(&mut facts, now);
    (facts != *old).then_some(facts)
}

/// After the clock was set: what lasts for a time lasts so long.
pub fn shifted(old: &ServerFacts, step: Step, now: SystemTime) -> ServerFacts {
    let mut facts = old.clone();
    if let Some(quiesce) = &mut facts.hand.quiesce {
        (quiesce.until, quiesce.at) = (step.shift(quiesce.until), step.shift(quiesce.at));
    }
    if let Some(ejected) = &mut facts.ejected {
        ejected.until = step.shift(ejected.until);
    }
    settle(&mut facts, now);
    facts
}

/// After the last of its clients has gone: a quiesce becomes a drain. `None`: it is not quiesced.
pub fn emptied(old: &ServerFacts, now: SystemTime) -> Option<ServerFacts> {
    let mut facts = old.clone();
    end_quiesce(&mut facts, now, |_| true);
    settle(&mut facts, now);
    (facts != *old).then_some(facts)
}

fn end_quiesce(facts: &mut ServerFacts, now: SystemTime, ends: impl Fn(&Quiesce) -> bool) {
    let stands = wanted(facts) == Admin::Enabled;
    if let Some(Quiesce { by, .. }) = facts.hand.quiesce.take_if(|it| ends(it))
        && stands
    {
        facts.hand.admin = said(Admin::Drain, facts.config.admin, &by, now);
    }
}

/// Until when clients that a scheduled drain finds at a server may come.
fn kept_by_clock(rule: &Scheduled, now: SystemTime, local_seconds: i64) -> Option<SystemTime> {
    let sticky = rule.sticky.filter(|_| rule.what == Admin::Drain)?;
    let passed = u64::try_from(local_seconds - schedule::begun(rule, local_seconds)).ok()?;
    let left = sticky.checked_sub(Duration::from_secs(passed)).filter(|left| !left.is_zero())?;
    // By whole seconds, so that each tick comes to the same moment.
    let seconds = now.duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some(UNIX_EPOCH + Duration::from_secs(seconds) + left)
}

/// What the file and operators want of a server, windows apart.
pub fn wanted(facts: &ServerFacts) -> Admin {
    facts.hand.admin.as_ref().map_or(facts.config.admin, |word| word.value)
}

/// A server in a few words, as the record of orders has it.
pub fn summary(facts: &ServerFacts) -> String {
    let address = address_text(&facts.config.address);
    let (state, weight) = (facts.state.name(), facts.weight.get());
    format!("{state}, weight {weight}, at {address}: {}", facts.reason)
}

/// A moment as people read it, in UTC.
pub fn moment_text(at: SystemTime) -> String {
    let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{}Z", Civil::of(i64::try_from(seconds).unwrap_or(i64::MAX / 2)))
}

/// After a judgement.
pub fn judged(old: &ServerFacts, verdict: Verdict, now: SystemTime) -> ServerFacts {
    let Verdict { health, reason, note, .. } = verdict;
    let mut facts = old.clone();
    let stood = old.judged.evidence && old.judged.health == health;
    let since = if stood { old.judged.since } else { now };
    facts.judged = Judged { health, reason, since, evidence: true, note };
    settle(&mut facts, now);
    facts
}

/// After it was put out for what it answered, or came back.
pub fn ejected(old: &ServerFacts, ejected: Option<Ejected>, now: SystemTime) -> ServerFacts {
    let mut facts = old.clone();
    facts.ejected = ejected;
    settle(&mut facts, now);
    facts
}

/// After its agent said something, or fell silent.
pub fn agent_said(
    old: &ServerFacts,
    said: Option<(ServerState, String)>,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = old.clone();
    facts.agent = said;
    settle(&mut facts, now);
    facts
}

/// After its name was looked up. A name that no longer resolves keeps the address that it had: a resolver that is
/// out must not take servers away.
pub fn resolved(
    old: &ServerFacts,
    found: Result<std::net::SocketAddr, String>,
    now: SystemTime,
) -> ServerFacts {
    let mut facts = old.clone();
    match found {
        Ok(address) => facts.resolved = Resolved::At(address),
        Err(why) if old.resolved.address().is_none() => facts.resolved = Resolved::Failed(why),
        Err(_) => {}
    }
    settle(&mut facts, now);
    facts
}

/// A configured address, as it is written.
pub fn address_text(address: &ServerAddress) -> String {
    match &address.host {
        Host::Ip(ip) => std::net::SocketAddr::new(*ip, address.port).to_string(),
        Host::Name(name) => format!("{name}:{}", address.port),
    }
}

/// What all of it comes to.
pub(super) fn settle(facts: &mut ServerFacts, now: SystemTime) {
    let hand = facts.hand.admin.as_ref();
    let by = hand.map_or_else(|| "by the file".to_owned(), |word| format!("by {}", word.by));
    let window = facts.hand.maintain.as_ref().filter(|window| window.open(now));
    let (state, reason) = match wanted(facts) {
        Admin::Enabled | Admin::Drain if window.is_some() => {
            (ServerState::Disabled, window.map(in_maintenance).unwrap_or_default())
        }
        Admin::Disabled => (ServerState::Disabled, format!("disabled {by}")),
        Admin::Drain => (ServerState::Drain, format!("drained {by}")),
        Admin::Enabled if facts.hand.quiesce.is_some() => {
            let quiesced = |quiesce: &Quiesce| quiesced(quiesce, &facts.judged);
            (ServerState::Drain, facts.hand.quiesce.as_ref().map(quiesced).unwrap_or_default())
        }
        Admin::Enabled if facts.clock.is_some() && !facts.hand.despite => {
            let until = facts.clock_keeps.filter(|until| *until > now);
            let by_clock = |rule: &Scheduled| by_clock(rule, until);
            facts.clock.as_ref().map_or((ServerState::Drain, String::new()), by_clock)
        }
        Admin::Enabled => match &facts.resolved {
            Resolved::NotYet => (ServerState::Unknown, "its name is being looked up".to_owned()),
            Resolved::Failed(why) => (ServerState::Down, why.clone()),
            Resolved::At(_) => match judged_or_said(facts) {
                (ServerState::Up | ServerState::Unknown, _) if facts.ejected.is_some() => {
                    (ServerState::Down, facts.ejected.as_ref().map(put_out).unwrap_or_default())
                }
                other => other,
            },
        },
    };
    if facts.state != state {
        facts.since = now;
    }
    facts.state = state;
    facts.reason = reason;
    facts.keeps = keeps(facts, now);
    facts.weight = facts.hand.weight.as_ref().map_or(facts.config.weight, |word| word.value);
}

/// Until when clients that are kept at it may come although it drains. A server that is down keeps nobody.
fn keeps(facts: &ServerFacts, now: SystemTime) -> Option<SystemTime> {
    let told_off = matches!(facts.agent, Some((ServerState::Down | ServerState::Disabled, _)));
    let works = facts.judged.health != Judgement::Down && facts.ejected.is_none() && !told_off;
    if facts.state != ServerState::Drain || wanted(facts) != Admin::Enabled || !works {
        return None;
    }
    let by_clock = facts.clock_keeps.filter(|_| facts.clock.is_some() && !facts.hand.despite);
    let until = facts.hand.quiesce.as_ref().map_or(by_clock, |quiesce| Some(quiesce.until));
    until.filter(|until| *until > now)
}

/// What its health and its agent come to.
fn judged_or_said(facts: &ServerFacts) -> (ServerState, String) {
    match &facts.agent {
        // It may want less than its health allows, never more.
        Some((said, why)) if facts.judged.health != Judgement::Down => (*said, why.clone()),
        _ => (state(facts.judged.health), facts.judged.reason.clone()),
    }
}

fn put_out(ejected: &Ejected) -> String {
    format!("{}; until {}", ejected.reason, moment_text(ejected.until))
}

fn by_clock(rule: &Scheduled, until: Option<SystemTime>) -> (ServerState, String) {
    let stay = |until| format!("; clients that it has may stay until {}", moment_text(until));
    let stay = until.map(stay).unwrap_or_default();
    match rule.what {
        Admin::Disabled => (ServerState::Disabled, format!("disabled by schedule {}", rule.hours)),
        _ => (ServerState::Drain, format!("drained by schedule {}{stay}", rule.hours)),
    }
}

fn in_maintenance(window: &Maintain) -> String {
    let until = window.until.map(|until| format!(" until {}", moment_text(until)));
    let why = if window.reason.is_empty() { String::new() } else { format!(": {}", window.reason) };
    format!("in maintenance{} by {}{why}", until.unwrap_or_default(), window.by)
}

fn quiesced(quiesce: &Quiesce, judged: &Judged) -> String {
    let until = moment_text(quiesce.until);
    if judged.health == Judgement::Down {
        let (by, why) = (&quiesce.by, &judged.reason);
        return format!("takes no new client by {by} until {until}, and keeps none: {why}");
    }
    format!("takes no new client by {}; those that it has may stay until {until}", quiesce.by)
}

fn initial(pool: &Pool, now: SystemTime) -> Judged {
    let reason = match pool.initial {
        Initial::Up => "taken as up until something shows otherwise",
        Initial::Unknown => "no evidence yet",
        Initial::Down => "down until its probe has succeeded often enough",
    };
    let health = health(pool.initial);
    Judged { health, reason: reason.to_owned(), since: now, evidence: false, note: None }
}

fn health(initial: Initial) -> Judgement {
    match initial {
        Initial::Up => Judgement::Up,
        Initial::Unknown => Judgement::Unknown,
        Initial::Down => Judgement::Down,
    }
}

fn state(health: Judgement) -> ServerState {
    match health {
        Judgement::Up => ServerState::Up,
        Judgement::Down => ServerState::Down,
        Judgement::Unknown => ServerState::Unknown,
    }
}

/// A word that says what the file says is none.
fn said<T: PartialEq>(value: T, over: T, by: &Origin, at: SystemTime) -> Option<Word<T>> {
    (value != over).then(|| Word { value, over, by: by.clone(), at })
}

/// A weight from a number kept elsewhere; beyond the largest it is the largest.
pub(super) fn weight(number: u16) -> Weight {
    Weight::new(number.min(Weight::MAX)).unwrap_or(Weight::ONE)
}
