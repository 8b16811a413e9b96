//! A group and the heartbeat: what it hears of the other member, and what that one is told of it.

use std::net::IpAddr;
use std::sync::Arc;

use ha::beat::Claim;
use ha::machine::{Peer, State, Withheld};
use model::moment::Moment;

use super::super::heartbeat::said::Pair;
use super::super::{alive, tell};
use super::{Group, Tools};
use crate::event::{Events, Level};

impl Group {
    /// What the heartbeat says of the other member. `pair`: both, in words.
    pub async fn advise(&mut self, peer: Peer, pair: Arc<Pair>, tools: &mut Tools<'_>) {
        self.pair = pair;
        let mut actions = Vec::new();
        self.machine.advise(alive::now(), peer, &mut actions);
        self.carry_out(actions, tools).await;
    }

    /// Whether others have to agree before it is active.
    pub fn witness(&mut self, witnessed: bool) {
        self.witnessed = witnessed;
    }

    /// Others have to agree, or had to.
    pub fn asks(&self) -> bool {
        self.witnessed || self.machine.leave().is_some()
    }

    /// Before it begins: nobody agrees yet, but to what a process before had. `held`: until when.
    pub(super) fn await_leave(&mut self, held: Option<Moment>, now: Moment) {
        let leave = self.witnessed.then(|| held.unwrap_or_default());
        self.machine.permit(now, leave, &mut Vec::new());
    }

    /// What it is, whether it lacks a vote, and until when it may be active.
    pub fn votes(&self) -> ((State, bool), Option<Moment>) {
        ((self.state(), self.machine.wants()), self.machine.leave())
    }

    /// Until when others agree that it is active.
    pub async fn permit(&mut self, leave: Option<Moment>, tools: &mut Tools<'_>) {
        let mut actions = Vec::new();
        self.machine.permit(alive::now(), leave, &mut actions);
        self.carry_out(actions, tools).await;
        self.renew(tools);
    }

    /// Whether it can do all of its work, or why not.
    pub fn judge(&mut self, obstacle: Option<String>, events: &Events) {
        let active = self.state() == State::Active;
        let obstacle = self.restored.obstacle(alive::now(), active).or(obstacle);
        if obstacle == self.unfit {
            return;
        }
        let name = &self.config.name;
        let about = [("group", name.clone()), ("interface", self.config.interface.clone())];
        match &obstacle {
            Some(why) => {
                let text = format!("group {name}: this member cannot do all of its work: {why}");
                events.tell(Level::Warning, "member-unfit", text, &about);
            }
            None => {
                let text = format!("group {name}: this member can do all of its work");
                events.tell(Level::Info, "member-fit", text, &about);
            }
        }
        self.unfit = obstacle;
    }

    /// Why it cannot do all of its work.
    pub fn unfit(&self) -> Option<&str> {
        self.unfit.as_deref()
    }

    /// Why it is what it is, in a sentence.
    pub(super) fn why(&self) -> String {
        let mut text = self.machine.withheld().map_or_else(
            || self.reason.clone(),
            |why| tell::withheld(why, &self.pair.peer, &self.pair.standing),
        );
        if self.machine.by_order() {
            text.push_str("; an order stands until `steelyard takeover --release`");
        }
        for (ip, link) in self.doubles.others() {
            text.push_str(&format!("; {ip} is at {} too", super::elsewhere::name(link)));
        }
        if let Some(why) = &self.unfit {
            text.push_str(&format!("; it cannot do all of its work: {why}"));
        }
        text
    }

    /// What the other member is told of us. Active is who answers: whoever could send nothing does not.
    pub fn claim(&self) -> Claim {
        let v6 = self.config.v6();
        let holds = self.state() != State::Active || alive::now() < self.held;
        let none = if v6 { IpAddr::from([0; 16]) } else { IpAddr::from([0; 4]) };
        Claim {
            id: self.config.id,
            v6,
            fit: self.unfit.is_none(),
            state: if holds { self.state() } else { State::Idle },
            priority: self.machine.priority(),
            source: self.ground.as_ref().map_or(none, |ground| ground.source),
            vote: None,
        }
    }

    /// The heartbeat keeps from becoming active, or does not any more.
    pub(super) fn kept_back(&self, why: Option<Withheld>, tools: &Tools<'_>) {
        let (level, kind, text) = match why {
            Some(why) => {
                let text = tell::withheld(why, &self.pair.peer, &self.pair.standing);
                (Level::Warning, "member-withheld", text)
            }
            None => {
                let text = "nothing but advertisements keeps it from becoming active";
                (Level::Info, "member-released", text.to_owned())
            }
        };
        let about = [
            ("group", self.config.name.clone()),
            ("interface", self.config.interface.clone()),
            ("peer", self.pair.peer.clone()),
        ];
        tools.events.tell(level, kind, format!("group {}: {text}", self.config.name), &about);
    }
}
