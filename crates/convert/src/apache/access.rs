//! Who may have what: `Require`, `Order`, `Allow`, `Deny`, `Satisfy` and `SSLRequireSSL` of one section.

use crate::condition::RuleCondition;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::statement::ConfigStatement;

use super::client_networks::{ProxyTrust, client_condition};

/// What a section says about access.
#[derive(Clone, Debug)]
pub struct SectionAccess {
    /// Who is let through.
    pub allowed: RuleCondition,
    /// Somebody is asked who he is.
    pub asks_identity: bool,
    pub kinds: AccessKinds,
}

/// The kinds of directives of a section. Each kind is replaced by the same kind of a later section.
#[derive(Clone, Copy, Debug)]
pub struct AccessKinds {
    requires: bool,
    orders: bool,
    /// What no later section replaces.
    others: bool,
}

impl AccessKinds {
    fn of(directives: &[ConfigStatement]) -> AccessKinds {
        let any = |names: &[&str]| directives.iter().any(|one| names.contains(&one.name.as_str()));
        let is_other = |one: &ConfigStatement| {
            let others = [
                "sslrequiressl",
                "sslrequire",
                "sslverifyclient",
                "limit",
                "limitexcept",
                "rewriterule",
                "allowmethods",
            ];
            others.contains(&one.name.as_str()) || is_guard(one)
        };
        AccessKinds {
            requires: any(&["require", "requireall", "requireany", "requirenone"]),
            orders: any(&["order", "allow", "deny"]),
            others: directives.iter().any(is_other),
        }
    }

    /// Whether a later section of these kinds replaces everything that this one says.
    pub fn is_replaced_by(self, later: AccessKinds) -> bool {
        !self.others && (later.requires || !self.requires) && (later.orders || !self.orders)
    }
}

/// Reads the access rules of a section. `None`: it has none.
pub fn read(
    directives: &[ConfigStatement],
    trust: &ProxyTrust,
    notes: &mut ConversionNotes,
) -> Option<SectionAccess> {
    read_any(directives, trust, false, notes)
}

/// Reads the access rules of `<If>`, whose redirects may refuse, too.
pub fn read_conditional(
    directives: &[ConfigStatement],
    trust: &ProxyTrust,
    notes: &mut ConversionNotes,
) -> Option<SectionAccess> {
    read_any(directives, trust, true, notes)
}

fn read_any(
    directives: &[ConfigStatement],
    trust: &ProxyTrust,
    is_conditional: bool,
    notes: &mut ConversionNotes,
) -> Option<SectionAccess> {
    let mut all: Vec<RuleCondition> = Vec::new();
    let mut asks_identity = asks(directives);
    let required = required(directives, trust, notes);
    let hosts = old_access(directives, trust, notes);
    let any = directives
        .iter()
        .any(|one| one.name == "satisfy" && one.word(0).eq_ignore_ascii_case("any"));
    match (required, hosts) {
        (Some(required), Some(hosts)) if any => all.push(RuleCondition::Any(vec![required, hosts])),
        (required, hosts) => all.extend(required.into_iter().chain(hosts)),
    }
    for directive in directives {
        match directive.name.as_str() {
            "satisfy" | "sslrequiressl" => {
                if directive.name == "sslrequiressl" {
                    all.push(RuleCondition::Tls);
                }
                directive.settle_converted(notes);
            }
            "sslrequire" | "sslverifyclient" if directive.word(0) != "none" => {
                let reason = "it is asked for by path: what it protects is closed";
                directive.leave_out(reason, "`tls.client` of a listener", notes);
                all.push(unknown(reason));
            }
            "rewriterule" if refuses(directive) => {
                let reason = "rules of a section are not read: what this one may refuse is refused";
                directive.leave_out(reason, "`RewriteRule` of the virtual host", notes);
                all.push(unknown(reason));
            }
            "allowmethods" => all.extend(allowed_methods(directive, notes)),
            "redirect" if is_conditional && redirect_refuses(directive) => {
                directive.leave_out(CONDITION, "`when` of a rule", notes);
                all.push(unknown(CONDITION));
            }
            "limit" | "limitexcept" => {
                let methods = directive.words_from(0).to_vec();
                directive.settle_converted(notes);
                let is_one = method_condition(&methods);
                let applies = if directive.name == "limit" { is_one } else { is_one.negate() };
                if let Some(inner) = read(directive.inner(), trust, notes) {
                    asks_identity |= inner.asks_identity;
                    all.push(RuleCondition::Any(vec![applies.negate(), inner.allowed]));
                }
            }
            _ if is_guard(directive) => {
                let reason = "nothing is known of what it asks for: what it protects is closed";
                directive.leave_out(reason, "", notes);
                all.push(unknown(reason));
            }
            _ => {}
        }
    }
    let kinds = AccessKinds::of(directives);
    (!all.is_empty()).then_some(SectionAccess {
        allowed: RuleCondition::All(all),
        asks_identity,
        kinds,
    })
}

/// Directives of modules that guard requests, and files that may hold such directives.
pub fn is_guard(directive: &ConfigStatement) -> bool {
    let name = directive.name.as_str();
    if matches!(name, "include" | "includeoptional") {
        // The file of Certbot only chooses versions and ciphers.
        return !directive.peek(0).ends_with("/options-ssl-apache.conf");
    }
    // A macro of another file may hold any directive.
    if name == "use" {
        return true;
    }
    const BEGINNINGS: [&str; 22] = [
        // It says how all expressions are read.
        "regexdefaultoptions",
        "oidc",
        "sec",
        "qs_",
        "dos",
        "mellon",
        "shib",
        "cas",
        "krb",
        "gssapi",
        "geoip",
        "maxmind",
        "evasive",
        "jwt",
        "lua",
        "perl",
        "python",
        "wsgiaccess",
        "wsgiauth",
        "tkt",
        "limitip",
        "nss",
    ];
    BEGINNINGS.iter().any(|begin| name.starts_with(begin))
}

/// Whether a file of the main server is one that distributions put in: modules, ports, and whole virtual hosts.
pub fn is_usual_file(directive: &ConfigStatement) -> bool {
    const USUAL: [&str; 8] = [
        "ports.conf",
        "mods-enabled/",
        "conf-enabled/",
        "sites-enabled/",
        "conf.modules.d/",
        "conf.d/",
        "vhosts",
        "extra/httpd-",
    ];
    let file = directive.peek(0);
    directive.name.starts_with("include") && USUAL.iter().any(|usual| file.contains(usual))
}

/// Rules of access outside of a section, which Apache does not start with.
pub fn is_misplaced(directive: &ConfigStatement) -> bool {
    let kinds = AccessKinds::of(std::slice::from_ref(directive));
    let is_one = |names: &[&str]| names.contains(&directive.name.as_str());
    kinds.requires
        || kinds.orders
        || is_one(&["limit", "limitexcept", "sslrequire", "sslrequiressl"])
}

/// The condition of `AllowMethods`. `None`: it allows every method again.
fn allowed_methods(
    directive: &ConfigStatement,
    notes: &mut ConversionNotes,
) -> Option<RuleCondition> {
    let methods = directive.words_from(0).to_vec();
    directive.settle_converted(notes);
    let is_reset = methods.iter().any(|one| one.eq_ignore_ascii_case("reset"));
    (!is_reset).then(|| method_condition(&methods))
}

/// Why a redirect of `<If>` closes.
const CONDITION: &str = "expressions are not read: what the redirect may refuse is refused";

/// Whether a `Redirect` answers with an error.
fn redirect_refuses(redirect: &ConfigStatement) -> bool {
    let status = redirect.peek(0);
    status.eq_ignore_ascii_case("gone") || status.parse::<u16>().is_ok_and(|status| status >= 400)
}

/// Whether a `RewriteRule` refuses what it fits, or sends it elsewhere.
fn refuses(rule: &ConfigStatement) -> bool {
    if rule.peek(1) != "-" {
        return true;
    }
    let flags = rule.peek(2).trim_matches(['[', ']']).to_ascii_lowercase();
    let is_refusal = |flag: &str| {
        matches!(flag.trim(), "f" | "forbidden" | "g" | "gone")
            || flag.trim().starts_with("r=4")
            || flag.trim().starts_with("r=5")
    };
    flags.split(',').any(is_refusal)
}

fn unknown(reason: &str) -> RuleCondition {
    RuleCondition::Unknown(UnsupportedReason::new(reason, ""))
}

fn method_condition(methods: &[String]) -> RuleCondition {
    let mut methods = methods.to_vec();
    methods.sort();
    methods.dedup();
    // GET stands for HEAD too.
    if methods.iter().any(|one| one == "GET") && !methods.iter().any(|one| one == "HEAD") {
        methods.push("HEAD".to_owned());
    }
    RuleCondition::texts("method", &methods)
}

fn asks(directives: &[ConfigStatement]) -> bool {
    const OPEN: [&str; 11] = [
        "all",
        "not",
        "ip",
        "host",
        "local",
        "forward-dns",
        "method",
        "env",
        "expr",
        "ssl",
        "ssl-verify-client",
    ];
    directives.iter().any(|one| match one.name.as_str() {
        "require" => !OPEN.contains(&one.peek(0).to_ascii_lowercase().as_str()),
        "requireany" | "requireall" | "requirenone" => asks(one.inner()),
        _ => false,
    })
}

/// Several `Require` lines: one of them is enough.
fn required(
    directives: &[ConfigStatement],
    trust: &ProxyTrust,
    notes: &mut ConversionNotes,
) -> Option<RuleCondition> {
    let parts = parts(directives, trust, notes);
    if parts.is_empty() {
        return None;
    }
    Some(RuleCondition::Any(parts))
}

fn parts(
    directives: &[ConfigStatement],
    trust: &ProxyTrust,
    notes: &mut ConversionNotes,
) -> Vec<RuleCondition> {
    let mut out = Vec::new();
    for one in directives {
        match one.name.as_str() {
            "require" => out.push(require(one, trust, notes)),
            "requireall" => out.push(RuleCondition::All(parts(one.inner(), trust, notes))),
            "requireany" => out.push(RuleCondition::Any(parts(one.inner(), trust, notes))),
            "requirenone" => {
                out.push(RuleCondition::Any(parts(one.inner(), trust, notes)).negate());
            }
            _ => {}
        }
    }
    out
}

fn require(
    statement: &ConfigStatement,
    trust: &ProxyTrust,
    notes: &mut ConversionNotes,
) -> RuleCondition {
    let words = statement.words_from(0).to_vec();
    statement.settle_converted(notes);
    let negated = words.first().is_some_and(|word| word.eq_ignore_ascii_case("not"));
    let words = &words[usize::from(negated)..];
    let kind = words.first().map_or(String::new(), |word| word.to_ascii_lowercase());
    let values = words.get(1..).unwrap_or(&[]);
    let condition = match kind.as_str() {
        "all" => match values.first().map(|word| word.to_ascii_lowercase()).as_deref() {
            Some("granted") => RuleCondition::Is(true),
            Some("denied") => RuleCondition::Is(false),
            _ => unknown("it is neither granted nor denied"),
        },
        "ip" => trust.bound(client_condition(values)),
        "local" => trust.bound(RuleCondition::texts("client", &["127.0.0.0/8", "::1"])),
        "ssl" => RuleCondition::Tls,
        "method" => method_condition(values),
        _ => unknown("nobody is asked who he is, and names of clients are not looked up"),
    };
    if let Some(why) = condition.unknown().cloned() {
        notes.left_out_because(statement.source, &statement.text(), &why);
    }
    if negated { condition.negate() } else { condition }
}

/// `Order`, `Allow` and `Deny` of version 2.2.
fn old_access(
    directives: &[ConfigStatement],
    trust: &ProxyTrust,
    notes: &mut ConversionNotes,
) -> Option<RuleCondition> {
    let mut allow: Vec<RuleCondition> = Vec::new();
    let mut deny: Vec<RuleCondition> = Vec::new();
    let mut allow_last = true;
    let mut any = false;
    for one in directives {
        match one.name.as_str() {
            "order" => {
                let order = one.words_from(0).concat().to_ascii_lowercase();
                allow_last = order == "deny,allow";
                one.settle_converted(notes);
                any = true;
            }
            "allow" | "deny" => {
                let values = one.words_from(1).to_vec();
                let from = one.word(0).eq_ignore_ascii_case("from");
                one.settle_converted(notes);
                let everybody = values.iter().any(|value| value.eq_ignore_ascii_case("all"));
                let condition = match everybody && from {
                    true => RuleCondition::Is(true),
                    false => trust.bound(client_condition(&values)),
                };
                if let Some(why) = condition.unknown().cloned() {
                    notes.left_out_because(one.source, &one.text(), &why);
                }
                if one.name == "allow" {
                    allow.push(condition)
                } else {
                    deny.push(condition)
                }
                any = true;
            }
            _ => {}
        }
    }
    if !any {
        return None;
    }
    let allowed = RuleCondition::Any(allow);
    let denied = RuleCondition::Any(deny);
    Some(match allow_last {
        true => RuleCondition::Any(vec![denied.negate(), allowed]),
        false => RuleCondition::All(vec![allowed, denied.negate()]),
    })
}
