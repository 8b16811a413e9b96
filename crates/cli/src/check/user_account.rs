//! The user that `check --as` stands for: found in the system's files, and taken on by this thread.
//!
//! The thread gives up root for good: what it opens afterwards, the daemon of that user could open.

use std::path::Path;

use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};

use crate::outcome::CommandError;

/// A user with all groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAccount {
    user: u32,
    group: u32,
    /// Groups besides that of the account.
    groups: Vec<u32>,
}

impl UserAccount {
    /// The account of a name or number.
    ///
    /// # Errors
    /// There is none.
    pub fn find(name: &str) -> Result<UserAccount, CommandError> {
        let read = |file: &str| std::fs::read_to_string(Path::new(file)).unwrap_or_default();
        find_account(name, &read("/etc/passwd"), &read("/etc/group")).ok_or_else(|| {
            CommandError::Unusable(format!(
                "--as: /etc/passwd has no user '{name}'; expected one of its names, or a number"
            ))
        })
    }

    /// Makes this thread one of the user.
    ///
    /// # Errors
    /// This process is another user's.
    pub fn assume(&self) -> Result<(), CommandError> {
        if geteuid().as_raw() == self.user {
            return Ok(());
        }
        let groups: Vec<Gid> = self.groups.iter().map(|group| Gid::from_raw(*group)).collect();
        // The user last: without root the groups could not be changed any more.
        let done = set_thread_groups(&groups)
            .and_then(|()| set_thread_gid(Gid::from_raw(self.group)))
            .and_then(|()| set_thread_uid(Uid::from_raw(self.user)));
        done.map_err(|error| {
            CommandError::Unusable(format!(
                "--as: only root can check as another user ({error}): use sudo"
            ))
        })
    }
}

/// From the texts of /etc/passwd and /etc/group. A number without an entry is a user of one group, as in containers.
fn find_account(name: &str, passwd: &str, group: &str) -> Option<UserAccount> {
    let number: Option<u32> = name.parse().ok();
    let entries = passwd.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let login = fields.next()?;
        let user: u32 = fields.nth(1)?.parse().ok()?;
        Some(PasswdEntry { login, user, group: fields.next()?.parse().ok()? })
    });
    let mut entries = entries.filter(|entry| entry.login == name || Some(entry.user) == number);
    let Some(PasswdEntry { login, user, group: own }) = entries.next() else {
        return number.map(|user| UserAccount { user, group: user, groups: Vec::new() });
    };
    let groups = group.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let number: u32 = fields.nth(2)?.parse().ok()?;
        let members = fields.next()?;
        members.split(',').any(|member| member == login).then_some(number)
    });
    Some(UserAccount { user, group: own, groups: groups.collect() })
}

/// A line of /etc/passwd.
struct PasswdEntry<'t> {
    login: &'t str,
    user: u32,
    group: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nbroken\nlb:x:990:991::/:/bin/false\n";
    const GROUP: &str = "root:x:0:\nlb:x:991:\nkeys:x:105:www,lb\nother:x:106:lbx\n";

    #[test]
    fn an_account_is_found_by_name_and_number_with_its_groups() {
        let account = Some(UserAccount { user: 990, group: 991, groups: vec![105] });
        assert_eq!(find_account("lb", PASSWD, GROUP), account);
        assert_eq!(find_account("990", PASSWD, GROUP), account);
        let alone = Some(UserAccount { user: 7_000, group: 7_000, groups: vec![] });
        assert_eq!(find_account("7000", PASSWD, GROUP), alone);
        assert_eq!(find_account("nobody-here", PASSWD, GROUP), None);
    }
}
