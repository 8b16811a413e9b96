//! Commands that change who is active: which groups they are for, and the result of each.

use ha::state_machine::{OrderRejection, VrrpState};

use super::super::command::{TakeoverAction, TakeoverError};
use super::super::group::VrrpGroup;
use super::VrrpTask;

impl VrrpTask {
    /// Carries out an operator's order and returns the groups that changed. An order for all groups skips groups that
    /// already match.
    pub(super) async fn change_active(
        &mut self,
        how: TakeoverAction,
        wanted: Option<String>,
    ) -> Result<Vec<String>, TakeoverError> {
        let names: Vec<String> = match wanted {
            Some(name) if self.groups.contains_key(&name) => vec![name],
            Some(name) => return Err(TakeoverError::Unknown(name)),
            None if self.groups.is_empty() => return Err(TakeoverError::None),
            None => {
                let needs = |(_, group): &(&String, &VrrpGroup)| is_affected(how, group.state());
                self.groups.iter().filter(needs).map(|(name, _)| name.clone()).collect()
            }
        };
        // Votes may have been lent since.
        self.update_permissions().await;
        if how == (TakeoverAction::HandOver { force: false }) {
            names.iter().try_for_each(|name| self.takeover_obstacle(name))?;
        }
        let mut moved = Vec::new();
        let mut waiting = Vec::new();
        for name in names {
            let Some(mut group) = self.groups.remove(&name) else { continue };
            let mut done = Ok(false);
            if let Some(mut tools) = self.group_context() {
                done = group.move_(how, &mut tools).await;
            }
            let waits = how == TakeoverAction::TakeOver && group.state() != VrrpState::Active;
            self.groups.insert(name.clone(), group);
            let refused = |why: OrderRejection| TakeoverError::Refused {
                name: name.clone(),
                why: why.to_string(),
            };
            let done = done.map_err(refused)?;
            match (done, waits) {
                (true, true) => waiting.push(name),
                (true, false) => moved.push(name),
                _ => {}
            }
        }
        if waiting.is_empty() { Ok(moved) } else { Err(TakeoverError::Waits(waiting.join(", "))) }
    }

    /// The reason why the peer would not take over a group, as far as the heartbeat reports it.
    fn takeover_obstacle(&self, name: &str) -> Result<(), TakeoverError> {
        let Some((beat, group)) = self.heartbeat.as_ref().zip(self.groups.get(name)) else {
            return Ok(());
        };
        let why = beat.takeover_obstacle(group.config.id, group.config.is_ipv6());
        why.map_or(Ok(()), |why| Err(TakeoverError::Unready { name: name.to_owned(), why }))
    }
}

/// Whether an order for all groups means one in this state.
fn is_affected(how: TakeoverAction, state: VrrpState) -> bool {
    match how {
        TakeoverAction::TakeOver => state != VrrpState::Active,
        TakeoverAction::HandOver { .. } => state == VrrpState::Active,
        TakeoverAction::Release => true,
    }
}
