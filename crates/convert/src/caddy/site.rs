//! Sites: their addresses, and the listeners that they share.

use crate::notes::ConversionNotes;
use crate::statement::ConfigStatement;

use super::address::SiteAddress;
use super::globals::GlobalOptions;
use super::tls::{self, SiteTls};

/// A site with its addresses.
pub struct CaddySite<'t> {
    pub statement: &'t ConfigStatement,
    pub addresses: Vec<SiteAddress>,
    pub bind: Vec<String>,
    pub tls: SiteTls,
}

/// Sites that share a port.
pub struct SiteGroup {
    pub bind: Vec<String>,
    pub port: u16,
    pub tls: bool,
    pub members: Vec<GroupMember>,
}

/// A site under some of its hosts, at one port.
#[derive(Clone, Debug)]
pub struct GroupMember {
    /// The index of the site.
    pub site: usize,
    /// Empty hosts stand for every host.
    pub hosts: Vec<String>,
    /// The port of TLS to which clients are redirected. `None`: the site itself.
    pub redirect: Option<u16>,
}

impl<'t> CaddySite<'t> {
    /// Reads a site. `None` if it listens nowhere.
    pub fn read(
        statement: &'t ConfigStatement,
        globals: &GlobalOptions,
        notes: &mut ConversionNotes,
    ) -> Option<CaddySite<'t>> {
        let words: Vec<String> = std::iter::once(statement.name.as_str())
            .chain(statement.words_from(0).iter().map(String::as_str))
            .flat_map(|word| word.split(','))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let has_tls = statement.find("tls").is_some();
        let mut addresses = Vec::new();
        for word in &words {
            match SiteAddress::read(word, globals.ports, has_tls) {
                Some(address) => addresses.push(address),
                None => {
                    let reason = "it is no host with a port: nothing is served there";
                    notes.left_out(statement.source, word, reason, "`listen` of a service");
                }
            }
        }
        let mut bind = globals.bind.clone();
        for directive in statement.inner().iter().filter(|one| one.name == "bind") {
            bind = directive.words_from(0).to_vec();
            directive.settle_converted(notes);
            for line in directive.inner() {
                line.leave_out("listeners speak what their service says", "`http3`", notes);
            }
        }
        let bound = bind.iter().all(|one| one.parse::<std::net::IpAddr>().is_ok());
        if addresses.is_empty() || !bound {
            let reason = "it listens at no address that can be written: the site is not served";
            statement.leave_out(reason, "`listen` of a service", notes);
            return None;
        }
        statement.settle_converted(notes);
        let secure = addresses.iter().any(|one| one.tls);
        let public = addresses.iter().filter(|one| one.tls).all(SiteAddress::is_public);
        let tls = match secure {
            true => tls::read(statement.inner(), globals, public, notes),
            false => SiteTls::default(),
        };
        if secure && tls.is_refused {
            let reason = "no certificate can be had for it: the site answers 502 under its names, or is not served";
            statement.leave_out(reason, "`tls = { certificates = … }`", notes);
        }
        for unused in statement.inner().iter().filter(|one| one.name == "tls" && !secure) {
            unused.leave_out("the site does not speak TLS", "", notes);
        }
        Some(CaddySite { statement, addresses, bind, tls })
    }
}

/// The listeners of all sites, those of their own addresses before those that redirect.
pub fn groups(sites: &[CaddySite<'_>], usual: u16) -> Vec<SiteGroup> {
    let mut out: Vec<SiteGroup> = Vec::new();
    for (at, site) in sites.iter().enumerate() {
        for address in &site.addresses {
            let member =
                GroupMember { site: at, hosts: vec![address.host.clone()], redirect: None };
            join(&mut out, site, address.port, address.tls, member);
        }
    }
    for (at, site) in sites.iter().enumerate() {
        for address in site.addresses.iter().filter(|one| one.redirects && one.port != usual) {
            let hosts = vec![address.host.clone()];
            let member = GroupMember { site: at, hosts, redirect: Some(address.port) };
            join(&mut out, site, usual, false, member);
        }
    }
    for group in &mut out {
        group.members.sort_by_key(|member| HostRank::of(&member.hosts, member.redirect.is_some()));
    }
    out
}

/// Hosts are looked up whole, then below a wildcard, then any; a site before a redirect.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct HostRank {
    breadth: u8,
    /// Longer wildcards come first.
    length: std::cmp::Reverse<usize>,
    is_redirect: bool,
}

impl HostRank {
    fn of(hosts: &[String], is_redirect: bool) -> HostRank {
        let first = hosts.first().map_or("", String::as_str);
        let breadth = match first {
            "" => 2,
            host => u8::from(host.contains('*')),
        };
        let length = if breadth == 1 { first.len() } else { 0 };
        HostRank { breadth, length: std::cmp::Reverse(length), is_redirect }
    }
}

fn join(
    groups: &mut Vec<SiteGroup>,
    site: &CaddySite<'_>,
    port: u16,
    tls: bool,
    member: GroupMember,
) {
    let same =
        groups.iter_mut().find(|one| one.port == port && one.bind == site.bind && one.tls == tls);
    let Some(group) = same else {
        let members = vec![member];
        return groups.push(SiteGroup { bind: site.bind.clone(), port, tls, members });
    };
    let rank = |one: &GroupMember| HostRank::of(&one.hosts, one.redirect.is_some()).breadth;
    let fits = |one: &&mut GroupMember| one.redirect == member.redirect && rank(one) == 0;
    // Sites come one after the other: those of this one stand at the end.
    let mut own = group.members.iter_mut().rev().take_while(|one| one.site == member.site);
    match own.find(fits).filter(|_| rank(&member) == 0) {
        Some(known) => known.hosts.extend(member.hosts),
        None => group.members.push(member),
    }
}
