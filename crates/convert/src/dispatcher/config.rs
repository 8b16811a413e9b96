//! The state after all commands: clusters, ports, servers, rules, the manager's settings and the advisors.

use std::collections::BTreeMap;

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

use super::command::DispatcherCommand;
use super::named_objects::NamedObjects;

/// The value of a keyword, and the command that set it last.
#[derive(Clone, Debug)]
pub struct KeywordSetting {
    pub value: String,
    pub source: SourcePlace,
}

/// Settings of an object by keyword.
pub type KeywordSettings = BTreeMap<String, KeywordSetting>;

#[derive(Debug, Default)]
pub struct DispatcherConfig {
    pub executor: KeywordSettings,
    /// In the order of their first command.
    pub clusters: NamedObjects<Cluster>,
    /// The settings of `manager`, if it was started.
    pub manager: Option<KeywordSettings>,
    /// Advisors that were started.
    pub advisors: Vec<Advisor>,
}

#[derive(Debug, Default)]
pub struct Cluster {
    /// The cluster's name, often its address.
    pub name: String,
    pub keys: KeywordSettings,
    pub ports: NamedObjects<ClusterPort>,
}

#[derive(Debug, Default)]
pub struct ClusterPort {
    /// The port number; 0 means any port.
    pub number: u16,
    pub keys: KeywordSettings,
    pub servers: NamedObjects<PortObject>,
    pub rules: NamedObjects<PortObject>,
    /// The command that added the port.
    pub source: SourcePlace,
    pub text: String,
}

/// A server or a rule.
#[derive(Debug, Default)]
pub struct PortObject {
    pub name: String,
    pub keys: KeywordSettings,
    /// Servers of a rule.
    pub servers: Vec<String>,
    /// Marked down by an operator.
    pub down: bool,
    /// The command that added the object.
    pub source: SourcePlace,
    pub text: String,
}

#[derive(Debug)]
pub struct Advisor {
    pub kind: String,
    /// The only cluster that the advisor checks, if it was named.
    pub cluster: Option<String>,
    pub port: u16,
    pub keys: KeywordSettings,
    /// The command that started the advisor.
    pub source: SourcePlace,
}

impl DispatcherConfig {
    pub fn apply(&mut self, command: &DispatcherCommand, notes: &mut ConversionNotes) {
        self.carry_out(command, notes);
        // Keywords that have no effect are reported later, when the objects are written.
        if !notes.ledger.is_settled(command.source) {
            notes.converted(command.source.whole());
        }
    }

    fn carry_out(&mut self, command: &DispatcherCommand, notes: &mut ConversionNotes) {
        match command.object {
            "executor" => self.executor(command, notes),
            "cluster" => self.cluster(command, notes),
            "port" => self.port(command, notes),
            "server" => self.server(command, notes),
            "rule" => self.rule(command, notes),
            "manager" => self.manager(command, notes),
            "advisor" => self.advisor(command, notes),
            "highavailability" => {
                let reason = "members find each other by VRRP, and need an interface and a number";
                notes.left_out(
                    command.source,
                    &command.text,
                    reason,
                    "`[vrrp.NAME]` with the clusters' addresses",
                );
            }
            "metric" | "subagent" => {
                notes.left_out(
                    command.source,
                    &command.text,
                    "servers tell their load in another form",
                    "`agent` in the pool, and `steelyard agent` on the servers",
                );
            }
            _ => notes.not_needed(
                command.source,
                &command.text,
                "logs and files of the product itself",
            ),
        }
    }

    fn executor(&mut self, command: &DispatcherCommand, notes: &mut ConversionNotes) {
        if command.has_action("set") {
            insert_keywords(&mut self.executor, command, 1);
        } else if command.has_action("configure") || command.has_action("unconfigure") {
            note_interface(command, notes);
        } else {
            let reason = "packets are taken as soon as a service is there";
            notes.not_needed(command.source, &command.text, reason);
        }
    }

    fn cluster(&mut self, command: &DispatcherCommand, notes: &mut ConversionNotes) {
        for target in command.targets() {
            let [name] = &target[..] else { return note_malformed(command, notes) };
            if command.has_action("add") || command.has_action("set") {
                let Some(cluster) = self.cluster_of(name) else { continue };
                insert_keywords(&mut cluster.keys, command, 2);
            } else if command.has_action("remove") {
                self.clusters.remove(name);
            } else if command.has_action("configure") || command.has_action("unconfigure") {
                note_interface(command, notes);
            } else {
                notes.not_needed(command.source, &command.text, "it changes no setting");
            }
        }
    }

    fn cluster_of(&mut self, name: &str) -> Option<&mut Cluster> {
        let make = || Cluster { name: name.to_owned(), ..Cluster::default() };
        self.clusters.get_or_add(name, make)
    }

    fn port_of(
        &mut self,
        cluster: &str,
        number: &str,
        command: &DispatcherCommand,
    ) -> Option<&mut ClusterPort> {
        let number: u16 = number.parse().ok()?;
        let make = || ClusterPort {
            number,
            source: command.source,
            text: command.text.clone(),
            ..ClusterPort::default()
        };
        self.cluster_of(cluster)?.ports.get_or_add(&number.to_string(), make)
    }

    fn port(&mut self, command: &DispatcherCommand, notes: &mut ConversionNotes) {
        for target in command.targets() {
            let [cluster, number] = &target[..] else { return note_malformed(command, notes) };
            if command.has_action("add") || command.has_action("set") {
                match self.port_of(cluster, number, command) {
                    Some(port) => insert_keywords(&mut port.keys, command, 2),
                    None => return note_malformed(command, notes),
                }
            } else if command.has_action("remove") {
                let Some(cluster) = self.cluster_of(cluster) else { continue };
                cluster.ports.remove(number);
            } else {
                note_malformed(command, notes);
            }
        }
    }

    fn server(&mut self, command: &DispatcherCommand, notes: &mut ConversionNotes) {
        for target in command.targets() {
            let [cluster, number, name] = &target[..] else {
                return note_malformed(command, notes);
            };
            let Some(port) = self.port_of(cluster, number, command) else {
                return note_malformed(command, notes);
            };
            if command.has_action("remove") {
                port.servers.remove(name);
                continue;
            }
            let Some(server) = object(&mut port.servers, name, command) else { continue };
            match () {
                () if command.has_action("down") => server.down = true,
                () if command.has_action("up") => server.down = false,
                () => insert_keywords(&mut server.keys, command, 2),
            }
        }
    }

    fn rule(&mut self, command: &DispatcherCommand, notes: &mut ConversionNotes) {
        for target in command.targets() {
            let [cluster, number, name] = &target[..] else {
                return note_malformed(command, notes);
            };
            let Some(port) = self.port_of(cluster, number, command) else {
                return note_malformed(command, notes);
            };
            if command.has_action("remove") {
                port.rules.remove(name);
                continue;
            }
            let Some(rule) = object(&mut port.rules, name, command) else { continue };
            if command.has_action("useserver") {
                rule.servers.extend(command.argument(2).split('+').map(str::to_owned));
            } else if command.has_action("dropserver") {
                rule.servers
                    .retain(|known| !command.argument(2).split('+').any(|one| one == known));
            } else {
                insert_keywords(&mut rule.keys, command, 2);
            }
        }
    }

    fn manager(&mut self, command: &DispatcherCommand, notes: &mut ConversionNotes) {
        match command.argument(0) {
            "start" => drop(self.manager.get_or_insert_default()),
            "stop" => self.manager = None,
            "proportions" => {
                let numbers =
                    KeywordSetting { value: command.rest(1).join(" "), source: command.source };
                self.manager.get_or_insert_default().insert("proportions".to_owned(), numbers);
            }
            "interval" | "sensitivity" | "smoothing" => {
                let number = KeywordSetting {
                    value: command.argument(1).to_owned(),
                    source: command.source,
                };
                self.manager.get_or_insert_default().insert(command.argument(0).to_owned(), number);
            }
            "quiesce" | "unquiesce" => {
                notes.left_out(
                    command.source,
                    &command.text,
                    "it is an order, not a setting",
                    "`steelyard server quiesce POOL/NAME`",
                );
            }
            "reach" => notes.left_out(
                command.source,
                &command.text,
                "members tell each other what they reach by a heartbeat, which has names and keys",
                "`reach` of `[heartbeat.PEER]`",
            ),
            _ => notes.not_needed(
                command.source,
                &command.text,
                "it is about the manager's own process",
            ),
        }
    }

    fn advisor(&mut self, command: &DispatcherCommand, notes: &mut ConversionNotes) {
        let action = command.argument(0);
        let kind = command.argument(1).to_ascii_lowercase();
        let target = command.argument(2);
        let separator = if target.contains('@') { '@' } else { ':' };
        let (cluster, port) = match target.rsplit_once(separator) {
            Some((cluster, port)) => (Some(cluster.to_owned()), port),
            None => (None, target),
        };
        let Ok(port) = port.parse::<u16>() else {
            return notes.not_needed(command.source, &command.text, "it names no port");
        };
        let same = |one: &Advisor| one.kind == kind && one.port == port && one.cluster == cluster;
        let at = self.advisors.iter().position(same);
        match (action, at) {
            ("start", None) => {
                let source = command.source;
                self.advisors.push(Advisor {
                    kind,
                    cluster,
                    port,
                    keys: KeywordSettings::new(),
                    source,
                });
            }
            ("stop", Some(at)) => drop(self.advisors.remove(at)),
            ("interval" | "timeout" | "connecttimeout" | "receivetimeout", Some(at)) => {
                let time = KeywordSetting {
                    value: command.argument(3).to_owned(),
                    source: command.source,
                };
                self.advisors[at].keys.insert(action.to_owned(), time);
            }
            _ => {
                notes.not_needed(command.source, &command.text, "it changes nothing that is asked")
            }
        }
    }
}

fn object<'o>(
    list: &'o mut NamedObjects<PortObject>,
    name: &str,
    command: &DispatcherCommand,
) -> Option<&'o mut PortObject> {
    let source = command.source;
    let make = || PortObject {
        name: name.to_owned(),
        source,
        text: command.text.clone(),
        ..PortObject::default()
    };
    list.get_or_add(name, make)
}

fn insert_keywords(keys: &mut KeywordSettings, command: &DispatcherCommand, from: usize) {
    // `proportions` of a cluster takes four numbers, not one value.
    if command.argument(from) == "proportions" {
        let value = command.rest(from + 1).join(" ");
        let numbers = KeywordSetting { value, source: command.source };
        keys.insert("proportions".to_owned(), numbers);
        return;
    }
    for (key, value) in command.pairs(from) {
        let setting = KeywordSetting { value: value.to_owned(), source: command.source };
        keys.insert(key.to_ascii_lowercase(), setting);
    }
}

fn note_interface(command: &DispatcherCommand, notes: &mut ConversionNotes) {
    notes.left_out(
        command.source,
        &command.text,
        "addresses of services are put on no interface",
        "`[vrrp.NAME]` with the clusters' addresses, or the system's network configuration",
    );
}

fn note_malformed(command: &DispatcherCommand, notes: &mut ConversionNotes) {
    notes.left_out(
        command.source,
        &command.text,
        "its target cannot be read",
        "CLUSTER:PORT:SERVER",
    );
}

pub fn keyword_value<'k>(keys: &'k KeywordSettings, key: &str) -> Option<&'k str> {
    keys.get(key).map(|setting| setting.value.as_str())
}

/// The source of a keyword. An absent keyword has the source `NONE`.
pub fn keyword_line(keys: &KeywordSettings, key: &str) -> SourcePlace {
    keys.get(key).map_or(SourcePlace::NONE, |setting| setting.source)
}

/// A keyword of the port, of its cluster, or of the executor.
pub fn inherited_keyword<'p>(
    picture: &'p DispatcherConfig,
    cluster: &'p Cluster,
    port: &'p ClusterPort,
    key: &str,
) -> Option<&'p KeywordSetting> {
    let of = |keys: &'p KeywordSettings| keys.get(key);
    of(&port.keys).or_else(|| of(&cluster.keys)).or_else(|| of(&picture.executor))
}
